/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A host that vanishes in the middle of a call: "lab_vanish FAULT RANK NOTES". In the second call
 * the process of RANK is killed ("kill"), or the link of its host is cut and comes back two seconds
 * later ("cut"). Each rank writes what it finds to the file NOTES.rank, since a launcher that kills
 * a job drops output: "pid PID", "fault" when that comes, "right SECONDS" and "wrong SECONDS" for a
 * call that reported success, "error ..." for one that did not, and "end". */

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT (16 << 20)
#define BUCKET 512
#define CALLS 4
#define FAULTY_CALL 1

static FILE *notes;

static void pause_for(long milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* Bytes that this host has sent. */
static unsigned long long count_sent(void)
{
    FILE *file = fopen("/proc/net/dev", "r");
    unsigned long long bytes = 0;
    char line[512];

    while (file && fgets(line, sizeof line, file))
        sscanf(line, " eth0: %*u %*u %*u %*u %*u %*u %*u %*u %llu", &bytes);
    if (file)
        fclose(file);
    return bytes;
}

/* Well within the call, which sends a megabyte and more. */
static void *vanish(void *fault)
{
    unsigned long long before = count_sent();
    int code = 0;

    while (count_sent() < before + 262144)
        pause_for(10);
    fputs("fault\n", notes);
    if (strcmp(fault, "kill") == 0)
        raise(SIGKILL);
    code |= system("ip link set dev eth0 down");
    pause_for(2000);
    code |= system("ip link set dev eth0 up");
    fprintf(notes, "link %s\n", code ? "failed" : "back");
    return NULL;
}

/* Elements of a bucket are equal, so that the sum is exact at every width, and sent as little more
 * than its header. */
static float element(int i, int rank)
{
    return (float)(i / BUCKET % 251 + rank);
}

static int sum_is_right(const float *buffer, int size)
{
    for (int i = 0; i < COUNT; i++) {
        if (buffer[i] != (float)(i / BUCKET % 251 * size + size * (size - 1) / 2))
            return 0;
    }
    return 1;
}

static int sum(float *buffer, int rank, int size)
{
    double begun = MPI_Wtime();
    int code;

    for (int i = 0; i < COUNT; i++)
        buffer[i] = element(i, rank);
    code = MPI_Allreduce(MPI_IN_PLACE, buffer, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS)
        fprintf(notes, "%s %.2f\n", sum_is_right(buffer, size) ? "right" : "wrong",
                MPI_Wtime() - begun);
    return code;
}

static void note_error(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class = 0;

    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &class);
    fprintf(notes, "error %d %s\n", class, text);
}

int main(int argc, char **argv)
{
    float *buffer = malloc(COUNT * sizeof *buffer);
    int rank, size, code = MPI_SUCCESS;
    char name[4096];
    pthread_t thread;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s.%d", argv[3], rank);
    notes = fopen(name, "w");
    setvbuf(notes, NULL, _IOLBF, 0);
    fprintf(notes, "pid %d\n", (int)getpid());
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < CALLS && code == MPI_SUCCESS; i++) {
        if (i == FAULTY_CALL && rank == atoi(argv[2]))
            pthread_create(&thread, NULL, vanish, argv[1]);
        code = sum(buffer, rank, size);
    }
    if (code != MPI_SUCCESS) {
        note_error(code);
        /* Launchers take the end of one rank for that of its host, or of the job. */
        pause_for(60000);
    }
    fputs("end\n", notes);
    _exit(code != MPI_SUCCESS);
}
