/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "bound.h"

#include <math.h>

/* Of a bucket what one rank, or one node, brings, and how far that may be off already. */
struct operand {
    const double *values;
    double error;
};

struct bucket {
    const struct oracle *oracle;
    const struct scheme *scheme;
    size_t count;
};

static double maxmin_loss(const struct bucket *bucket, struct operand operand)
{
    const struct oracle *oracle = bucket->oracle;
    double min = operand.values[0], max = min, error = operand.error;

    for (size_t i = 1; i < bucket->count; i++) {
        min = operand.values[i] < min ? operand.values[i] : min;
        max = operand.values[i] > max ? operand.values[i] : max;
    }
    if (max > min || error > 0)
        error += oracle->ranks * 0x1p-23 * fmax(fabs(min), fabs(max));
    return 0.5 * (1 + 0x1p-8) * bound_step(bucket->scheme, min - error, max + error);
}

/* The step is doubled until elements have at most 126 steps. */
static double uniform_loss(const struct bucket *bucket, struct operand operand)
{
    double most = 0, step;

    for (size_t i = 0; i < bucket->count; i++)
        if (isfinite(operand.values[i]))
            most = fmax(most, fabs(operand.values[i]));
    most += operand.error;
    step = fmax(bucket->scheme->uniform, most / 63) * (1 + 0x1p-8);
    /* With history elements are divided by up to as much as they are multiplied by again. */
    return (bucket->oracle->history ? 252 : 1) * (step / 2 + most * 0x1p-22);
}

static double loss(const struct bucket *bucket, struct operand operand)
{
    return bucket->scheme->uniform > 0 ? uniform_loss(bucket, operand)
                                       : maxmin_loss(bucket, operand);
}

/* Scatter-reduce-allgather: all operands but the owner's, whoever that is, are quantised. */
static double scattered(const struct bucket *bucket, const struct operand *operands, int n)
{
    double error = 0, least = INFINITY;

    for (int i = 0; i < n; i++) {
        double lost = loss(bucket, operands[i]);

        error += operands[i].error + lost;
        least = fmin(least, lost);
    }
    return error - least;
}

static void add(double *sum, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += values[i];
}

/* The sum of N operands, which goes to TOTAL. */
static struct operand stage(const struct bucket *bucket, const struct operand *operands, int n,
                            double *total)
{
    struct operand sum = {total, operands[0].error};

    memset(total, 0, bucket->count * sizeof *total);
    for (int i = 0; i < n; i++)
        add(total, operands[i].values, bucket->count);
    if (n > 1)
        sum.error = scattered(bucket, operands, n);
    return sum;
}

/* The worst grid of NODES, of which SUMS are known, whatever its rows. */
static struct operand grid(const struct bucket *bucket, const struct operand *sums, int nodes,
                           double *total)
{
    static double rows_memory[ORACLE_RANKS][4096];
    struct operand worst = {total, 0};

    for (int rows = 2; rows <= nodes / 2; rows++) {
        struct operand of_rows[ORACLE_RANKS], sum;

        for (int row = 0; row < rows; row++) {
            int first = row * nodes / rows, end = (row + 1) * nodes / rows;

            of_rows[row] = stage(bucket, sums + first, end - first, rows_memory[row]);
        }
        sum = stage(bucket, of_rows, rows, total);
        worst.error = fmax(worst.error, sum.error);
    }
    return worst;
}

double quantisations_error(const struct oracle *oracle, const struct scheme *scheme,
                           const double *inputs, size_t stride, size_t count)
{
    static double partials[ORACLE_RANKS][4096], total[4096];
    const struct bucket bucket = {oracle, scheme, count};
    struct operand sums[ORACLE_RANKS], sum;

    for (int node = 0; node < oracle->nodes; node++) {
        struct operand members[ORACLE_RANKS];
        int n = 0;

        for (int p = 0; p < oracle->ranks; p++)
            if (oracle->node[p] == node)
                members[n++] = (struct operand){inputs + (size_t)p * stride, 0};
        sums[node] = stage(&bucket, members, n, partials[node]);
    }
    if (oracle->cross_grid && oracle->nodes > 3)
        sum = grid(&bucket, sums, oracle->nodes, total);
    else
        sum = stage(&bucket, sums, oracle->nodes, total);
    return sum.error + loss(&bucket, sum);
}
