/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A rank that is lost or late in the middle of a compressed call: "rank_faults FAULT NTH RANK
 * NOTES". When the library sends its NTH message from the second call on, or, if NTH is 0, reads
 * the middle of the second call's buffer, RANK is killed ("kill"), exits ("exit"), aborts the job
 * ("abort"), is stopped until rank 0 sees that and waits for it ("stop"), or is late in that
 * message and all later ones ("slow"). Each rank writes what it finds to the file NOTES.rank, since
 * a launcher that kills a job drops output: "fault", "wrong" for a wrong sum, and "end". */

#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

enum { COUNT = 100003, CALLS = 4, ABORTED = 7, PAGE = 4096 };

static const char *fault = "";
static int left; /* messages until the fault; 0: none is to come */
static pid_t faulty_process;
static FILE *notes;
static _Alignas(PAGE) float values[COUNT];
static char *middle; /* the page of the buffer that must not be read before the fault */

static void come(void)
{
    const struct timespec late = {.tv_nsec = 5000000};

    if (strcmp(fault, "slow") == 0) {
        fputs("fault\n", notes);
        nanosleep(&late, NULL);
        left = 1;
        return;
    }
    fputs("fault\n", notes);
    if (strcmp(fault, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(fault, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(fault, "exit") == 0)
        exit(5);
    if (strcmp(fault, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, ABORTED);
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    if (left > 0 && --left == 0)
        come();
    return MPI_Isend(buffer, count, datatype, destination, tag, comm, request);
}

static void reach_middle(int number, siginfo_t *info, void *context)
{
    char *at = info->si_addr;

    (void)context;
    if (at < middle || at >= middle + PAGE) {
        signal(number, SIG_DFL);
        return;
    }
    mprotect(middle, PAGE, PROT_READ | PROT_WRITE);
    come();
}

static void guard_middle(void)
{
    struct sigaction action = {.sa_sigaction = reach_middle, .sa_flags = SA_SIGINFO};

    middle = (char *)values + sizeof values / PAGE / 2 * PAGE;
    sigaction(SIGSEGV, &action, NULL);
    mprotect(middle, PAGE, PROT_NONE);
}

static int is_stopped(pid_t process)
{
    char name[64], state = 0;
    FILE *file;

    snprintf(name, sizeof name, "/proc/%d/stat", (int)process);
    file = fopen(name, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    fclose(file);
    return state == 'T';
}

/* In a wait of rank 0: when it has polled often enough in vain, the stopped rank may go on. */
static void poll_in_vain(void)
{
    static int polls;

    if (faulty_process > 0 && is_stopped(faulty_process) && ++polls > 1000) {
        polls = 0;
        kill(faulty_process, SIGCONT);
    }
}

int PMPI_Testsome(int count, MPI_Request *requests, int *outcount, int *indices,
                  MPI_Status *statuses)
{
    poll_in_vain();
    return MPI_Testsome(count, requests, outcount, indices, statuses);
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    poll_in_vain();
    return MPI_Iprobe(source, tag, comm, flag, status);
}

/* Ones are exact whatever the width. */
static int is_right(int size, int guarded)
{
    for (int i = 0; i < COUNT; i++)
        values[i] = 1;
    if (guarded)
        guard_middle();
    MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        if (values[i] != (float)size)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    int nth = atoi(argv[2]), faulty = atoi(argv[3]), rank, size, process = (int)getpid();
    char name[4096];

    fault = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s.%d", argv[4], rank);
    notes = fopen(name, "w");
    setvbuf(notes, NULL, _IOLBF, 0);
    MPI_Bcast(&process, 1, MPI_INT, faulty, MPI_COMM_WORLD);
    for (int call = 0; call < CALLS; call++) {
        if (call == 1 && rank == faulty)
            left = nth;
        if (call == 1 && rank == 0 && strcmp(fault, "stop") == 0)
            faulty_process = process;
        if (!is_right(size, call == 1 && rank == faulty && nth == 0))
            fputs("wrong\n", notes);
    }
    faulty_process = 0;
    MPI_Finalize();
    fputs("end\n", notes);
    fclose(notes);
    return 0;
}
