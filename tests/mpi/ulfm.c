/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that goes on when a rank fails, as MPIs with user-level failure mitigation allow: "ulfm
 * WHERE NTH RANK NOTES". RANK is killed in the NTH call that the library makes of an MPI function.
 * WHERE is "agreement", "exact", "split", "nodes" or, from step FIRST on, "isend" or "iprobe". In
 * step FIRST the rank may also "die" before its sum, or "leave": it revokes the communicator and
 * sums nothing. Or another of its threads revokes the communicator as the NTH message is sent
 * ("thread"). Ranks that get an error of a failure or a revocation revoke, shrink, and continue
 * to sum. Each rank writes what it finds to the file NOTES.rank: "fault"; "failed", "revoked" or
 * "other" for each error; "wrong" for a wrong sum; "compressed" or "exact" for the last sum; and
 * "end RANKS". */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI

enum { COUNT = 100003, STEPS = 48, FIRST = 20, MOST_RANKS = 16 };

static const char *where = "";
static int left; /* calls until the fault; 0: none is to come */
static FILE *notes;
static MPI_Comm comm;
static int world_rank;

/* ---- the fault ---- */

static void *revoke_it(void *unused)
{
    MPIX_Comm_revoke(comm);
    return unused;
}

static bool has_threads(void)
{
    return strcmp(where, "thread") == 0;
}

static void come(void)
{
    pthread_t thread;

    fputs("fault\n", notes);
    if (!has_threads()) {
        raise(SIGKILL);
        return;
    }
    pthread_create(&thread, NULL, revoke_it, NULL);
    pthread_join(thread, NULL);
}

static void pass(const char *place)
{
    const char *here = strcmp(where, "thread") == 0 ? "isend" : where;

    if (strcmp(here, place) == 0 && left > 0 && --left == 0)
        come();
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm on, MPI_Request *request)
{
    pass("isend");
    return MPI_Isend(buffer, count, datatype, destination, tag, on, request);
}

int PMPI_Iprobe(int source, int tag, MPI_Comm on, int *flag, MPI_Status *status)
{
    pass("iprobe");
    return MPI_Iprobe(source, tag, on, flag, status);
}

/* MPI_Allreduce is the library's, which makes exact calls and asks other ranks by this one. */
int PMPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm on)
{
    static int (*reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

    if (!reduce)
        reduce = (__typeof__(reduce))dlsym(RTLD_NEXT, "PMPI_Allreduce");
    pass(datatype == MPI_FLOAT ? "exact" : "agreement");
    return reduce(send, receive, count, datatype, op, on);
}

int PMPI_Comm_split(MPI_Comm on, int color, int key, MPI_Comm *made)
{
    pass("split");
    return MPI_Comm_split(on, color, key, made);
}

int PMPI_Allgather(const void *send, int nsend, MPI_Datatype sent, void *receive, int nreceive,
                   MPI_Datatype received, MPI_Comm on)
{
    pass("nodes");
    return MPI_Allgather(send, nsend, sent, receive, nreceive, received, on);
}

/* ---- sums ---- */

static float element(int rank, int step, int i)
{
    unsigned word =
        (unsigned)i * 2654435761u + (unsigned)(rank + 1) * 40503u + (unsigned)step * 97u;

    word = (word ^ word >> 15) * 2246822519u;
    word = (word ^ word >> 13) * 3266489917u;
    return (float)(word >> 8) / (1 << 24) - .5F;
}

/* Sets RANKS to those of the communicator's members in MPI_COMM_WORLD; returns how many. */
static int members(int *ranks)
{
    MPI_Group all, some;
    int own[MOST_RANKS], size;

    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++)
        own[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(comm, &some);
    MPI_Group_translate_ranks(some, size, own, all, ranks);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    return size;
}

/* |SUMS - the exact ones| / |the exact ones|. */
static double error_of(const float *sums, int step)
{
    int ranks[MOST_RANKS], size = members(ranks);
    double error = 0, power = 0;

    for (int i = 0; i < COUNT; i++) {
        double exact = 0;

        for (int r = 0; r < size; r++)
            exact += element(ranks[r], step, i);
        error += (sums[i] - exact) * (sums[i] - exact);
        power += exact * exact;
    }
    return sqrt(error / power);
}

static bool is_of_failure(int code)
{
    int class;

    MPI_Error_class(code, &class);
    fprintf(notes, "%s\n",
            class == MPIX_ERR_PROC_FAILED ? "failed"
            : class == MPIX_ERR_REVOKED   ? "revoked"
                                          : "other");
    return class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED;
}

static int sum(float *values, int step)
{
    for (int i = 0; i < COUNT; i++)
        values[i] = element(world_rank, step, i);
    pass("die");
    if (left > 0 && strcmp(where, "leave") == 0) {
        fputs("fault\n", notes);
        left = 0;
        MPIX_Comm_revoke(comm);
        return MPIX_ERR_REVOKED;
    }
    return MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, comm);
}

static void recover(void)
{
    MPI_Comm rest;

    MPIX_Comm_shrink(comm, &rest);
    MPI_Comm_free(&comm);
    comm = rest;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/* Until all steps are done; ranks that have had different errors go on at the earliest step. */
static void run(int nth)
{
    bool is_late = strcmp(where, "die") == 0 || strcmp(where, "isend") == 0 ||
                   strcmp(where, "iprobe") == 0 || strcmp(where, "leave") == 0 ||
                   strcmp(where, "thread") == 0;
    float *values = malloc(COUNT * sizeof *values);
    double error = 0;
    int step = 0;

    while (step < STEPS) {
        int code;

        if (step == (is_late ? FIRST : 0) && left < 0)
            left = nth;
        code = sum(values, step);
        if (code != MPI_SUCCESS && is_of_failure(code)) {
            MPIX_Comm_revoke(comm);
            is_of_failure(sum(values, step)); /* again, as any sum on this communicator */
            recover();
            MPI_Allreduce(MPI_IN_PLACE, &step, 1, MPI_INT, MPI_MIN, comm);
            continue;
        }
        if (code != MPI_SUCCESS)
            return;
        error = error_of(values, step);
        if (error > .3)
            fputs("wrong\n", notes);
        step++;
    }
    fputs(error > 1e-3 ? "compressed\n" : "exact\n", notes);
    fprintf(notes, "end %d\n", members((int[MOST_RANKS]){0}));
    MPI_Barrier(comm);
    free(values);
}

int main(int argc, char **argv)
{
    int level;
    char name[4096];

    if (argc < 5)
        return 2;
    where = argv[1];
    MPI_Init_thread(&argc, &argv, has_threads() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    snprintf(name, sizeof name, "%s.%d", argv[4], world_rank);
    notes = fopen(name, "w");
    setvbuf(notes, NULL, _IOLBF, 0);
    left = world_rank == atoi(argv[3]) ? -1 : 0;
    run(atoi(argv[2]));
    fclose(notes);
    /* Without MPI_Finalize, which waits for ranks that are no more. */
    exit(0);
}

#else

int main(void)
{
    return 77;
}

#endif
