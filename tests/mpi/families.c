/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_CODEC=auto rotates a part of a sum, with host buffers: dense elements are rotated; a table
 * with few touched rows and flags are not. "families [RATIO]": the dense part's error once rotated
 * is at most RATIO times its error before. The step is one call, which a rule must say. */

#include <math.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/data.h"

enum {
    DENSE = 3 * 16384,
    TABLE = 4 * 16384,
    FLAGS = 16384,
    COUNT = DENSE + TABLE + FLAGS,
    ROW = 32
};

/* Steps by which what is known is put to use. */
enum { KNOWN = 10, STEPS = 24 };

static float input[COUNT], result[COUNT], exact[COUNT], dense[DENSE];

/* Whether RANK touches the table's row in STEP; one in four is never touched. */
static bool touches(size_t row, int rank, int step)
{
    uint64_t x = (row * 40503u + (uint64_t)rank * 9973 + (uint64_t)step * 7919) * 2654435761u;

    return row % 4 != 0 && (x >> 20) % 50 == 0;
}

static void fill(int step)
{
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)step, check_rank, DENSE, dense);
    for (size_t i = 0; i < DENSE; i++)
        input[i] = dense[i];
    for (size_t i = 0; i < TABLE; i++)
        input[DENSE + i] = touches(i / ROW, check_rank, step) ? dense[i % DENSE] : 0;
    for (size_t i = 0; i < FLAGS; i++)
        input[DENSE + TABLE + i] = (float)(i % 2);
}

/* The squared error of the dense elements over their power. */
static double error_of(void)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < DENSE; i++) {
        error += pow((double)result[i] - (double)exact[i], 2);
        power += pow((double)exact[i], 2);
    }
    return error / power;
}

static bool keeps_zeros(void)
{
    bool keeps = true;

    for (size_t row = 0; row < TABLE / ROW; row += 4)
        for (size_t i = 0; i < ROW; i++)
            keeps = keeps && result[DENSE + row * ROW + i] == 0;
    return keeps;
}

/* Within half a step of 4 bits for each quantisation: scales of history differ a little. */
static bool keeps_flags(void)
{
    bool keeps = true;

    for (size_t i = DENSE + TABLE; i < COUNT; i++)
        keeps = keeps && fabs((double)result[i] - (double)exact[i]) < 0.07 * (double)check_size;
    return keeps;
}

int main(int argc, char **argv)
{
    bool same = true, zeros = true, flags = true;
    double first = 0, last = 0, ratio;

    check_begin(&argc, &argv);
    ratio = argc > 1 ? atof(argv[1]) : 0.9;
    for (int step = 0; step < STEPS; step++) {
        fill(step);
        MPI_Allreduce(input, result, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        same = same && check_same(result, sizeof result, MPI_COMM_WORLD);
        zeros = zeros && keeps_zeros();
        flags = flags && keeps_flags();
        if (step < KNOWN)
            first = fmax(first, error_of());
        else
            last = fmax(last, error_of());
    }
    check(same, "the same on all ranks");
    check(zeros, "rows that nobody touches stay zero");
    check(flags, "flags are told apart");
    check(first > 0 && last < ratio * first, "the dense part has less error, once it is rotated");
    check_note("error of the dense part: at most %.4f before, %.4f after", first, last);
    return check_end();
}
