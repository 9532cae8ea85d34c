/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "storm.h"

#include <float.h>
#include <math.h>

enum { GROUP = 1024 };

#define LEAST_STEP 0x1p-109

/* Mean squares. */
struct loudness {
    double piece;     /* the most that a piece can have for its own step */
    double quantised; /* of all that is quantised on the way of the sum, without errors */
};

/* Where the squares are no float32 the library does not count them. */
static double counted(double squares, size_t count)
{
    return squares < (double)FLT_MAX ? squares / (double)count : 0;
}

static struct loudness loudness_of(const struct oracle *oracle, const struct placed *sum,
                                   size_t first, size_t count)
{
    double total[GROUP] = {0}, magnitude[GROUP] = {0}, roots = 0, inputs = 0, sums = 0, most = 0;

    for (int p = 0; p < oracle->ranks; p++) {
        double squares = 0;

        for (size_t i = 0; i < count; i++) {
            double x = data_value(sum->kind, sum->type, sum->seed, p, first + i);

            squares += x * x;
            total[i] += x;
            magnitude[i] += fabs(x);
        }
        squares = counted(squares, count);
        roots += sqrt(squares);
        inputs += squares;
    }
    for (size_t i = 0; i < count; i++) {
        sums += total[i] * total[i];
        most += magnitude[i] * magnitude[i];
    }
    return (struct loudness){roots * roots, oracle_is_flat(oracle)
                                                ? (inputs + counted(sums, count)) / oracle->ranks
                                                : counted(most, count)};
}

double loudness_step(const struct oracle *oracle, const struct placed *sum, MPI_Comm comm,
                     double *loudest)
{
    double most[2] = {0}, mean = 0, errors, step;
    int rank;

    PMPI_Comm_rank(comm, &rank);
    for (size_t k = (size_t)rank; k * GROUP < sum->count; k += (size_t)oracle->ranks) {
        size_t left = sum->count - k * GROUP, count = left < GROUP ? left : GROUP;
        struct loudness here = loudness_of(oracle, sum, k * GROUP, count);

        most[0] = fmax(most[0], here.piece);
        most[1] = fmax(most[1], here.quantised);
        mean += here.quantised * (double)count / (double)sum->count;
    }
    PMPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, comm);
    PMPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, comm);
    /* A part of the elements may be all that is quantised so. */
    if (oracle->parts || oracle->maxmin)
        mean = most[1];
    /* The squares of sources' steps add up to that of a sum. */
    step = sqrt(12 * oracle->uniform * fmax(*loudest, most[0]) +
                oracle->ranks * LEAST_STEP * LEAST_STEP) *
           (1 + 0x1p-8);
    /* Of the errors that sums hold nearly all is taken off their squares again. What is left, and
     * what comes from groups with larger steps, is far below this. */
    errors = (oracle_is_flat(oracle) ? 1 : oracle->ranks / 2.0) * step * step / 12;
    *loudest = fmax(*loudest, 1.5 * mean + 0.31 * errors);
    return step;
}
