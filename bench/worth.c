/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Times training steps without a model: in each one some sums of float32 with new Gaussian
 * elements, plain or, if the library is preloaded, as that serves them: for one node, and for
 * bench/lab. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "models/leave.h"

static const char usage[] =
    "usage: mpiexec -n RANKS bench/worth BYTES SUMS STEPS\n"
    "\n"
    "Rank 0 prints a line for each step: its number, and its sums' milliseconds on the slowest\n"
    "rank, from when all ranks have the step's elements.\n";

/* Elements beyond those of a step, where it may begin. */
#define MORE (1 << 20)

static uint64_t random_state;

/* xorshift64 (Marsaglia 2003) */
static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

/* Fills ELEMENTS, an even number, with normal ones (Box and Muller 1958). */
static void draw(float *elements, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        float radius = sqrtf(-2 * logf(((float)(next_random() >> 8) + 0.5f) * 0x1p-24f));
        float angle = 6.2831853f * (float)(next_random() >> 8) * 0x1p-24f;

        elements[i] = radius * cosf(angle);
        elements[i + 1] = radius * sinf(angle);
    }
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double step(const float *pool, float *sums, size_t elements, int count)
{
    double begun, took;

    for (int i = 0; i < count; i++)
        memcpy(sums + (size_t)i * elements, pool + (next_random() & ~15u) % MORE,
               elements * sizeof *sums);
    MPI_Barrier(MPI_COMM_WORLD);
    begun = now();
    for (int i = 0; i < count; i++)
        MPI_Allreduce(MPI_IN_PLACE, sums + (size_t)i * elements, (int)elements, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    took = now() - begun;
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
    draw(pool, elements + MORE);
    for (int i = 0; i < steps; i++)
        took[i] = step(pool, sums, elements, count);
    for (int i = 0; rank == 0 && i < steps; i++)
        printf("%d %.6f\n", i, 1e3 * took[i]);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    leave_job();
    _exit(0);
}
