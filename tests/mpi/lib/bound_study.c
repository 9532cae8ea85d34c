/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "bound_study.h"

#include <math.h>
#include <string.h>

/* The smallest number of 8 significant bits that is not below VALUE, which float32 arithmetic may
 * have rounded up a little. */
static double bf16_up(double value)
{
    int exponent;

    value *= 1 + 0x1p-22;
    frexp(value, &exponent);
    return ldexp(ceil(ldexp(value, 8 - exponent)), exponent - 8);
}

double bound_step(const struct scheme *scheme, double min, double max)
{
    double codes = exp2(scheme->bits) - 1;
    double magnitude = fmax(fabs(min), fabs(max));

    if (!(max > min))
        return 0;
    return bf16_up(fmax(fmax((max - min) / codes, magnitude * 0x1.02p-15), 0x1p-126));
}

/* The step of values that lie within ERROR of VALUES, but for float32 rounding. */
static double step_near(const struct bucket *bucket, const double *values, double error)
{
    double min = values[0], max = min;

    for (size_t i = 1; i < bucket->count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    if (max > min || error > 0)
        error += bucket->ranks * 0x1p-24 * fmax(fabs(min), fabs(max));
    return bound_step(bucket->scheme, min - error, max + error);
}

static double variance(double step)
{
    return step * step / 12;
}

/* Scatter-reduce-allgather: all inputs but the owner's, whichever he is, and the sum. */
static void study_flat(struct bucket *bucket)
{
    const struct scheme *scheme = bucket->scheme;
    double total = 0, least = INFINITY, model = 0;

    for (int p = 0; p < bucket->ranks; p++) {
        double step = step_near(bucket, bucket->inputs + (size_t)p * scheme->bucket, 0);

        total += step;
        least = fmin(least, step);
        model += variance(step) * (bucket->ranks - 1) / bucket->ranks;
    }
    total -= least;
    bucket->steps = total + step_near(bucket, bucket->sum, BOUND_SHARE * total);
    bucket->model = model + variance(step_near(bucket, bucket->sum, 0));
}

/* Adds up the inputs of node NODE into the partial sum; the sum of their steps. */
static double sum_node(struct bucket *bucket, int node, double *model)
{
    const struct scheme *scheme = bucket->scheme;
    double total = 0;

    memset(bucket->partial, 0, bucket->count * sizeof(double));
    for (int p = node * scheme->per_node; p < (node + 1) * scheme->per_node; p++) {
        const double *input = bucket->inputs + (size_t)p * scheme->bucket;
        double step = step_near(bucket, input, 0);

        for (size_t i = 0; i < bucket->count; i++)
            bucket->partial[i] += input[i];
        total += step;
        *model += variance(step) * (scheme->per_node - 1) / scheme->per_node;
    }
    return total;
}

/* Nodes of several ranks each: all inputs, the nodes' sums and the sum of these. */
static void study_nodes(struct bucket *bucket)
{
    const struct scheme *scheme = bucket->scheme;
    int nodes = bucket->ranks / scheme->per_node;
    double total = 0;

    for (int node = 0; node < nodes; node++) {
        double steps = sum_node(bucket, node, &bucket->model);

        bucket->model += variance(step_near(bucket, bucket->partial, 0)) * (nodes - 1) / nodes;
        total += steps + step_near(bucket, bucket->partial, BOUND_SHARE * steps);
    }
    bucket->steps = total + step_near(bucket, bucket->sum, BOUND_SHARE * total);
    bucket->model += variance(step_near(bucket, bucket->sum, 0));
}

/* The steps of nodes FIRST to END - 1, of which several have a sum of a row. */
static double row_steps(struct bucket *bucket, int first, int end, double *model)
{
    bool are_sums = bucket->scheme->per_node > 1;
    double total = 0;

    memset(bucket->row, 0, bucket->count * sizeof(double));
    for (int node = first; node < end; node++) {
        double steps = sum_node(bucket, node, model);

        total += steps;
        if (are_sums)
            total += step_near(bucket, bucket->partial, BOUND_SHARE * steps);
        for (size_t i = 0; i < bucket->count; i++)
            bucket->row[i] += bucket->partial[i];
    }
    *model += variance(step_near(bucket, bucket->row, 0));
    return total + step_near(bucket, bucket->row, BOUND_SHARE * total);
}

/* The worst grid of nodes. */
static void study_grid(struct bucket *bucket)
{
    int nodes = bucket->ranks / bucket->scheme->per_node;

    for (int rows = 2; rows <= nodes / 2; rows++) {
        double total = 0, model = 0;

        for (int row = 0; row < rows; row++)
            total += row_steps(bucket, row * nodes / rows, (row + 1) * nodes / rows, &model);
        total += step_near(bucket, bucket->sum, BOUND_SHARE * total);
        model += variance(step_near(bucket, bucket->sum, 0));
        bucket->steps = fmax(bucket->steps, total);
        bucket->model = fmax(bucket->model, model);
    }
}

void bound_study(struct bucket *bucket)
{
    memset(bucket->sum, 0, bucket->count * sizeof(double));
    for (int p = 0; p < bucket->ranks; p++) {
        for (size_t i = 0; i < bucket->count; i++)
            bucket->sum[i] += bucket->inputs[(size_t)p * bucket->scheme->bucket + i];
    }
    bucket->steps = 0;
    bucket->model = 0;
    if (bucket->scheme->bits == 32)
        return;
    if (bucket->scheme->grid && bucket->scheme->per_node > 0 &&
        bucket->ranks / bucket->scheme->per_node > 3)
        study_grid(bucket);
    else if (bucket->scheme->per_node > 0)
        study_nodes(bucket);
    else
        study_flat(bucket);
}
