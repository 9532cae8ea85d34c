/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Times training steps without a model: in each one some sums of float32 with new Gaussian
 * elements, plain or, if the library is preloaded, as that serves them: for one node, and for
 * bench/lab. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "models/leave.h"
#include "models/matrix.h"

static const char usage[] =
    "usage: mpiexec -n RANKS bench/worth BYTES SUMS STEPS\n"
    "\n"
    "Rank 0 prints a line for each step: its number, and its sums' milliseconds on the slowest\n"
    "rank, from when all ranks have the step's elements.\n";

/* Elements beyond those of a step, where it may begin. */
#define MORE (1 << 20)

static uint64_t random_state;

static double step(const float *pool, float *sums, size_t elements, int count)
{
    double begun, took;

    for (int i = 0; i < count; i++)
        memcpy(sums + (size_t)i * elements, pool + random_bits(&random_state) % MORE / 16 * 16,
               elements * sizeof *sums);
    MPI_Barrier(MPI_COMM_WORLD);
    begun = MPI_Wtime();
    for (int i = 0; i < count; i++)
        MPI_Allreduce(MPI_IN_PLACE, sums + (size_t)i * elements, (int)elements, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    took = MPI_Wtime() - begun;
    PMPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

int main(int argc, char **argv)
{
    size_t elements;
    float *pool, *sums;
    double *took;
    int rank, count, steps;

    if (argc != 4) {
        fputs(usage, stderr);
        return 2;
    }
    elements = strtoul(argv[1], NULL, 10) / sizeof(float);
    count = atoi(argv[2]);
    steps = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pool = malloc((elements + MORE) * sizeof *pool);
    sums = calloc((size_t)count, elements * sizeof *sums);
    took = calloc((size_t)steps, sizeof *took);
    if (!pool || !sums || !took)
        MPI_Abort(MPI_COMM_WORLD, 1);
    random_state = 0x9E3779B97F4A7C15u * (uint64_t)(rank + 1);
    for (size_t i = 0; i < elements + MORE; i++)
        pool[i] = (float)random_gaussian(&random_state);
    for (int i = 0; i < steps; i++)
        took[i] = step(pool, sums, elements, count);
    for (int i = 0; rank == 0 && i < steps; i++)
        printf("%d %.6f\n", i, 1e3 * took[i]);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    leave_job();
    _exit(0);
}
