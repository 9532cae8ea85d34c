/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a call that the library passes on costs more than without it: MPI_Allreduce, which is the
 * library's, of host buffers and exact, against PMPI_Allreduce, which is not, in turn and in one
 * run; likewise the other functions that it takes over, and one that it does not. Preload the
 * library:
 *
 *     mpiexec -n 2 cgxrun bench/exact_call [--driver] [--rounds N]
 *
 * Prints, for each kind of call, the medians of both in nanoseconds and their difference, for
 * all-reduces beside the limit of 300. With --driver the program has the CUDA driver loaded and a
 * context on its first device, so that the library must ask where buffers lie; 77: there is no
 * driver or device. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/device_memory.h"
#include "times.h"

enum { ROUNDS = 2001, CALLS = 50, LIMIT = 300 };

static int rounds = ROUNDS;
static MPI_Info info; /* without hints */

static const struct functions {
    __typeof__(MPI_Allreduce) *allreduce;
    __typeof__(MPI_Comm_set_info) *comm_set_info;
    __typeof__(MPI_Type_size) *type_size;
} library = {MPI_Allreduce, MPI_Comm_set_info, MPI_Type_size},
  plain = {PMPI_Allreduce, PMPI_Comm_set_info, PMPI_Type_size};

struct kind {
    const char *what;
    void (*call)(const struct functions *functions, const struct kind *kind);
    int count;
    MPI_Datatype datatype;
    MPI_Comm comm;
};

static void sum(const struct functions *functions, const struct kind *kind)
{
    static double in[4096], out[4096];

    functions->allreduce(in, out, kind->count, kind->datatype, MPI_SUM, kind->comm);
}

static void set_info(const struct functions *functions, const struct kind *kind)
{
    functions->comm_set_info(kind->comm, info);
}

static void ask_size(const struct functions *functions, const struct kind *kind)
{
    int size;

    functions->type_size(kind->datatype, &size);
}

static double time_calls(const struct functions *functions, const struct kind *kind)
{
    double start = MPI_Wtime();

    for (int i = 0; i < CALLS; i++)
        kind->call(functions, kind);
    return (MPI_Wtime() - start) * 1e9 / CALLS;
}

static void measure(const struct kind *kind)
{
    static double with[ROUNDS], without[ROUNDS], difference[ROUNDS];
    int rank;

    time_calls(&library, kind);
    for (int round = 0; round < rounds; round++) {
        with[round] = time_calls(&library, kind);
        without[round] = time_calls(&plain, kind);
        difference[round] = with[round] - without[round];
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("%-44s %8.0f ns, plain %8.0f ns, more %6.0f ns", kind->what,
               bench_median(with, (size_t)rounds), bench_median(without, (size_t)rounds),
               bench_median(difference, (size_t)rounds));
        if (kind->call == sum)
            printf(" of %d", LIMIT);
        putchar('\n');
    }
    fflush(stdout);
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

static void measure_all(void)
{
    const struct kind kinds[] = {
        {"1 double, one rank", sum, 1, MPI_DOUBLE, MPI_COMM_SELF},
        {"16 floats, one rank", sum, 16, MPI_FLOAT, MPI_COMM_SELF},
        {"4096 floats, one rank", sum, 4096, MPI_FLOAT, MPI_COMM_SELF},
        {"MPI_Comm_set_info", set_info, 0, MPI_FLOAT, MPI_COMM_SELF},
        {"MPI_Type_size, which is the MPI's own", ask_size, 0, MPI_FLOAT, MPI_COMM_SELF},
        {"1 double, all ranks", sum, 1, MPI_DOUBLE, MPI_COMM_WORLD},
        {"64 floats, all ranks", sum, 64, MPI_FLOAT, MPI_COMM_WORLD},
        {"4096 floats, all ranks (default settings)", sum, 4096, MPI_FLOAT, MPI_COMM_WORLD}};
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size > 1 || kinds[i].comm != MPI_COMM_WORLD)
            measure(&kinds[i]);
}

int main(int argc, char **argv)
{
    bool driver = false;

    if (!parse(argc, argv, &driver)) {
        fprintf(stderr, "usage: %s [--driver] [--rounds N]; N is at most %d\n", argv[0], ROUNDS);
        return 2;
    }
    if (driver && !device_allocate(0, 1))
        return 77;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    measure_all();
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
