/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that traps floating-point exceptions (as with Fortran's -ffpe-trap), and sums zeros,
 * huge and subnormal numbers, NaN and infinities. No compressed sum traps or raises a flag. Warm-up
 * is off. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/traffic.h"

enum { COUNT = 70001, ROUNDS = 4 };
enum { ORDINARY, ZEROS, HUGE_ONES, HUGE_SUMS, SUBNORMAL, ONE_NAN, ONE_INFINITY, INFINITIES, KINDS };
static const char *const names[] = {
    "ordinary numbers",  "zeros", "1e30",        "sums that overflow",
    "subnormal numbers", "a NaN", "an infinity", "infinities of both signs"};

static void fill(int kind, uint64_t call, float *values)
{
    const double scales[] = {1, 0, 1e30, 3e38, 1e-41, 1, 1, 1};

    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)(data_value(DATA_GAUSSIAN, ELEMENT_FLOAT32, call, check_rank, i) / 8 *
                            scales[kind]);
    if (kind == HUGE_SUMS)
        values[7] = 3e38f;
    if (kind == ONE_NAN && check_rank == 0)
        values[5] = NAN;
    if (kind == INFINITIES || (kind == ONE_INFINITY && check_rank == 0))
        values[5] = check_rank == 0 ? INFINITY : -INFINITY;
}

/* Sums with traps; whether it was compressed. *RAISED: the flags that it left. */
static bool sum(float *values, int *raised)
{
    uint64_t before = traffic_messages();

    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    *raised = fetestexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    return traffic_messages() > before;
}

int main(int argc, char **argv)
{
    float *values;
    int flags;

    check_begin(&argc, &argv);
    values = check_memory(COUNT * sizeof *values);
    for (int call = 0; call < 3; call++) {
        fill(ORDINARY, (uint64_t)call, values);
        sum(values, &flags);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        bool compressed = true;
        int all = 0;

        for (int round = 0; round < ROUNDS; round++) {
            fill(kind, 10 * (uint64_t)kind + (uint64_t)round, values);
            compressed = sum(values, &flags) && compressed;
            all |= flags;
        }
        check(compressed, "%s: compressed", names[kind]);
        check(all == 0, "%s: no trap, and no flag (%x)", names[kind], (unsigned)all);
    }
    free(values);
    return check_end();
}
