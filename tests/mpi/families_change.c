/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_CODEC=auto follows the family with less error, with host buffers. Segments are Gaussian or,
 * in each bucket, far from zero compared to their differences. Two of the four segments change
 * after half of the steps. The step is one call, which a rule must say. */

#include <math.h>

#include "lib/check.h"
#include "lib/data.h"

enum { SEGMENT = 16384, SEGMENTS = 4, COUNT = SEGMENTS * SEGMENT };

/* Steps of each half, and by which what is known of it is put to use. */
enum { STEPS = 24, KNOWN = 14 };

static float input[COUNT], result[COUNT], exact[COUNT];

static const enum data_kind kinds[2][SEGMENTS] = {
    {DATA_GAUSSIAN, DATA_OFFSET, DATA_GAUSSIAN, DATA_OFFSET},
    {DATA_OFFSET, DATA_GAUSSIAN, DATA_GAUSSIAN, DATA_OFFSET}};

static void fill(int half, int step)
{
    for (size_t s = 0; s < SEGMENTS; s++)
        data_fill(kinds[half][s], ELEMENT_FLOAT32, (uint64_t)(half * STEPS + step) * SEGMENTS + s,
                  check_rank, SEGMENT, input + s * SEGMENT);
}

/* The squared error of segment S over its power. */
static double error_of(size_t s)
{
    double error = 0, power = 0;

    for (size_t i = s * SEGMENT; i < (s + 1) * SEGMENT; i++) {
        error += pow((double)result[i] - (double)exact[i], 2);
        power += pow((double)exact[i], 2);
    }
    return error / power;
}

int main(int argc, char **argv)
{
    double worst[2][SEGMENTS] = {{0}};
    bool same = true, good = true;

    check_begin(&argc, &argv);
    for (int half = 0; half < 2; half++)
        for (int step = 0; step < STEPS; step++) {
            fill(half, step);
            MPI_Allreduce(input, result, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            same = same && check_same(result, sizeof result, MPI_COMM_WORLD);
            for (size_t s = 0; s < SEGMENTS && step >= KNOWN; s++)
                worst[half][s] = fmax(worst[half][s], error_of(s));
        }
    /* 4 bits have .0140 of the power of Gaussian data in each quantisation max-min quantised, and
     * .0096 rotated. */
    for (int half = 0; half < 2; half++)
        for (size_t s = 0; s < SEGMENTS; s++)
            good = good && worst[half][s] > 0 &&
                   worst[half][s] < (kinds[half][s] == DATA_GAUSSIAN ? 0.024 : 1e-4);
    check(same, "the same on all ranks");
    check(good, "all have the error of the family that suits them");
    for (int half = 0; half < 2; half++)
        check_note("errors: %.2g %.2g %.2g %.2g", worst[half][0], worst[half][1], worst[half][2],
                   worst[half][3]);
    return check_end();
}
