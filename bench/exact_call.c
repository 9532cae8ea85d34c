/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What an exact call on host buffers costs more than without the library: MPI_Allreduce, which is
 * the library's, against PMPI_Allreduce, which is not, in turn and in one run. Preload the library:
 *
 *     mpiexec -n 2 cgxrun bench/exact_call [--driver]
 *
 * With --driver the program loads the CUDA driver first, which the library then asks of each buffer
 * where it lies. Prints, for each kind of call, the medians of both in nanoseconds and their
 * difference beside the limit of 300, which is that of programs without a driver. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 2001, CALLS = 50, LIMIT = 300 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
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
    for (int round = 0; round < ROUNDS; round++) {
        with[round] = time_calls(MPI_Allreduce, count, datatype, comm);
        without[round] = time_calls(PMPI_Allreduce, count, datatype, comm);
        difference[round] = with[round] - without[round];
    }
    ours = median(with);
    theirs = median(without);
    more = median(difference);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%-44s %8.0f ns, plain %8.0f ns, more %6.0f ns of %d\n", what, ours, theirs, more,
               LIMIT);
}

static bool load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *function = library ? dlsym(library, "cuInit") : NULL;
    int (*init)(unsigned flags);

    memcpy(&init, &function, sizeof init);
    return function && init(0) == 0;
}

int main(int argc, char **argv)
{
    bool driver = argc > 1 && strcmp(argv[1], "--driver") == 0;
    int size;

    if (driver && !load_driver()) {
        fprintf(stderr, "exact_call: no CUDA driver, or no device\n");
        return 77;
    }
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
