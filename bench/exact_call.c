/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What an exact call on host buffers costs more than without the library: MPI_Allreduce, which is
 * the library's, against PMPI_Allreduce, which is not, in turn and in one run. Preload the library:
 *
 *     mpiexec -n 2 cgxrun bench/exact_call [--driver] [--rounds N]
 *
 * Prints, for each kind of call, the medians of both in nanoseconds and their difference beside the
 * limit of 300. With --driver the program has the CUDA driver loaded and a context on its first
 * device, so that the library must ask where buffers lie; 77: there is no driver or device. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "times.h"

enum { ROUNDS = 2001, CALLS = 50, LIMIT = 300 };

static int rounds = ROUNDS;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static double time_calls(allreduce *function, int count, MPI_Datatype datatype, MPI_Comm comm)
{
    static double in[4096], out[4096];
    double start = now();

    for (int i = 0; i < CALLS; i++)
        function(in, out, count, datatype, MPI_SUM, comm);
    return (now() - start) / CALLS;
}

static void measure(const char *what, int count, MPI_Datatype datatype, MPI_Comm comm)
{
    static double with[ROUNDS], without[ROUNDS], difference[ROUNDS];
    double ours, theirs, more;
    int rank;

    time_calls(MPI_Allreduce, count, datatype, comm);
    for (int round = 0; round < rounds; round++) {
        with[round] = time_calls(MPI_Allreduce, count, datatype, comm);
        without[round] = time_calls(PMPI_Allreduce, count, datatype, comm);
        difference[round] = with[round] - without[round];
    }
    ours = bench_median(with, (size_t)rounds);
    theirs = bench_median(without, (size_t)rounds);
    more = bench_median(difference, (size_t)rounds);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%-44s %8.0f ns, plain %8.0f ns, more %6.0f ns of %d\n", what, ours, theirs, more,
               LIMIT);
    fflush(stdout);
}

/* These functions have been the same since CUDA 7. False, after printing why: there is none. */
static bool load_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context;
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);

    if (driver == NULL) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return false;
    }
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&set_current = dlsym(driver, "cuCtxSetCurrent");
    if (init == NULL || retain == NULL || set_current == NULL || init(0) != 0 ||
        retain(&context, 0) != 0 || set_current(context) != 0) {
        fprintf(stderr, "no CUDA device\n");
        return false;
    }
    return true;
}

static bool parse(int argc, char **argv, bool *driver)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--driver") == 0)
            *driver = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else
            return false;
    }
    return rounds >= 1 && rounds <= ROUNDS;
}

int main(int argc, char **argv)
{
    bool driver = false;
    int size;

    if (!parse(argc, argv, &driver)) {
        fprintf(stderr, "usage: %s [--driver] [--rounds N]; N is at most %d\n", argv[0], ROUNDS);
        return 2;
    }
    if (driver && !load_driver())
        return 77;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    measure("1 double, one rank", 1, MPI_DOUBLE, MPI_COMM_SELF);
    measure("16 floats, one rank", 16, MPI_FLOAT, MPI_COMM_SELF);
    measure("4096 floats, one rank", 4096, MPI_FLOAT, MPI_COMM_SELF);
    if (size > 1) {
        measure("1 double, all ranks", 1, MPI_DOUBLE, MPI_COMM_WORLD);
        measure("64 floats, all ranks", 64, MPI_FLOAT, MPI_COMM_WORLD);
        measure("4096 floats, all ranks (default settings)", 4096, MPI_FLOAT, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
