/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* One bucket: the inputs of all ranks, the exact sum, and what has been found out about it. */
struct bucket {
    const struct scheme *scheme;
    int ranks;
    size_t count;
    double *inputs; /* of rank p: [p * scheme->bucket, ...) */
    double *sum;
    double *partial; /* the ring's */
    double steps;    /* upper bound of the sum of the steps; rotated: expected errors */
    double model;    /* expected squared error */
};

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
    double codes = exp2(scheme->bits) - (scheme->stochastic ? 2 : 1);
    double magnitude = fmax(fabs(min), fabs(max));

    if (!(max > min))
        return 0;
    return bf16_up(fmax(fmax((max - min) / codes, magnitude * 0x1.02p-15), 0x1p-126));
}

/* The share of a step that one quantisation may be off. */
static double share(const struct scheme *scheme)
{
    if (scheme->rotated > 0)
        return 4;
    return scheme->widest * (scheme->stochastic ? 1 : 0.5) * (1 + 0x1p-8);
}

static double norm_of(const struct bucket *bucket, const double *values)
{
    double squares = 0;

    for (size_t i = 0; i < bucket->count; i++)
        squares += values[i] * values[i];
    return sqrt(squares);
}

/* The step of values that lie within ERROR of VALUES, but for float32 rounding. */
static double step_near(const struct bucket *bucket, const double *values, double error)
{
    double min = values[0], max = min;

    if (bucket->scheme->rotated > 0) {
        error += norm_of(bucket, values);
        return sqrt(bucket->scheme->rotated) * error + fmin(error, 0x1p-102); /* steps of 0 */
    }
    for (size_t i = 1; i < bucket->count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    if (max > min || error > 0)
        error += bucket->ranks * 0x1p-24 * fmax(fabs(min), fabs(max));
    return bound_step(bucket->scheme, min - error, max + error);
}

static double variance(const struct scheme *scheme, double step)
{
    if (scheme->rotated > 0)
        return step * step;
    return step * step / (scheme->stochastic ? 6 : 12);
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
        model += variance(scheme, step) * (bucket->ranks - 1) / bucket->ranks;
    }
    total -= least;
    bucket->steps = total + step_near(bucket, bucket->sum, share(scheme) * total);
    bucket->model = model + variance(scheme, step_near(bucket, bucket->sum, 0));
}

/* The ring from rank START on in direction TURN: every partial sum is quantised once. */
static double ring_steps(struct bucket *bucket, int start, int turn, double *model)
{
    double total = 0;

    *model = 0;
    memset(bucket->partial, 0, bucket->count * sizeof(double));
    for (int hop = 0; hop < bucket->ranks; hop++) {
        int p = (start + hop * turn + bucket->ranks * bucket->ranks) % bucket->ranks;
        const double *input = bucket->inputs + (size_t)p * bucket->scheme->bucket;

        for (size_t i = 0; i < bucket->count; i++)
            bucket->partial[i] += input[i];
        *model += variance(bucket->scheme, step_near(bucket, bucket->partial, 0));
        total += step_near(bucket, bucket->partial, share(bucket->scheme) * total);
    }
    return total;
}

/* The worst ring, whoever owns the bucket and whichever way it turns. */
static void study_ring(struct bucket *bucket)
{
    bucket->steps = 0;
    bucket->model = 0;
    for (int start = 0; start < bucket->ranks; start++) {
        for (int turn = -1; turn <= 1; turn += 2) {
            double model;

            bucket->steps = fmax(bucket->steps, ring_steps(bucket, start, turn, &model));
            bucket->model += model / (2 * bucket->ranks);
        }
    }
}

/* Adds up the inputs of node NODE into the partial sum; the sum of their steps, if they have any.
 */
static double sum_node(struct bucket *bucket, int node, double *model)
{
    const struct scheme *scheme = bucket->scheme;
    double total = 0;

    memset(bucket->partial, 0, bucket->count * sizeof(double));
    for (int p = node * scheme->per_node; p < (node + 1) * scheme->per_node; p++) {
        const double *input = bucket->inputs + (size_t)p * scheme->bucket;
        double step = scheme->raw ? 0 : step_near(bucket, input, 0);

        for (size_t i = 0; i < bucket->count; i++)
            bucket->partial[i] += input[i];
        total += step;
        *model += variance(scheme, step) * (scheme->per_node - 1) / scheme->per_node;
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

        bucket->model +=
            variance(scheme, step_near(bucket, bucket->partial, 0)) * (nodes - 1) / nodes;
        total += steps + step_near(bucket, bucket->partial, share(scheme) * steps);
    }
    bucket->steps = total + step_near(bucket, bucket->sum, share(scheme) * total);
    bucket->model += variance(scheme, step_near(bucket, bucket->sum, 0));
}

static void study(struct bucket *bucket)
{
    memset(bucket->sum, 0, bucket->count * sizeof(double));
    for (int p = 0; p < bucket->ranks; p++) {
        for (size_t i = 0; i < bucket->count; i++)
            bucket->sum[i] += bucket->inputs[(size_t)p * bucket->scheme->bucket + i];
    }
    bucket->steps = 0;
    bucket->model = 0;
    if (bucket->scheme->bits == 32 ||
        (bucket->scheme->skip_incomplete && bucket->count < bucket->scheme->bucket))
        return;
    if (bucket->scheme->per_node > 0)
        study_nodes(bucket);
    else if (bucket->scheme->ring)
        study_ring(bucket);
    else
        study_flat(bucket);
}

/* Compares element I of the bucket with its bound. */
static void compare(const struct bucket *bucket, size_t i, double result, struct outcome *outcome)
{
    double error = fabs(result - bucket->sum[i]);
    double magnitude = bucket->steps;
    double allowed = share(bucket->scheme) * bucket->steps;

    for (int p = 0; p < bucket->ranks; p++)
        magnitude += fabs(bucket->inputs[(size_t)p * bucket->scheme->bucket + i]);
    allowed += bucket->ranks * 0x1p-24 * magnitude;
    allowed += element_half_ulp(bucket->scheme->type, fabs(bucket->sum[i]) + allowed);
    if (!(error <= INFINITY)) /* NaN */
        error = INFINITY;
    if (bucket->scheme->rotated == 0)
        outcome->worst = fmax(outcome->worst, error / allowed);
    outcome->square += error * error;
}

/* True if an element or, within its error, a sum is beyond what the contract keeps finite: 2^125,
 * and for float16 the threshold of overflow. Where there are sums of sums these count, and the step
 * of the last. */
static bool is_fragile(const struct bucket *bucket)
{
    const struct scheme *scheme = bucket->scheme;
    double limit = scheme->type == ELEMENT_FLOAT16 ? 65520 : 0x1p125;
    bool has_partial = scheme->ring || scheme->per_node > 0;
    double slack = share(scheme) * bucket->steps * (has_partial ? 4 : 1);

    for (size_t i = 0; i < bucket->count; i++) {
        double sum = fabs(bucket->sum[i]), magnitude = 0;

        for (int p = 0; p < bucket->ranks; p++) {
            double x = fabs(bucket->inputs[(size_t)p * scheme->bucket + i]);

            if (!(x < limit))
                return true;
            magnitude += x;
        }
        sum = has_partial ? magnitude : sum;
        if (!(sum + slack < limit * (1 - 0x1p-7)))
            return true;
    }
    return false;
}

/* All that holds for a fragile bucket. */
static void find_laundered(const struct bucket *bucket, size_t first, const void *result,
                           struct outcome *outcome)
{
    enum element type = bucket->scheme->type;

    outcome->fragile++;
    for (size_t i = 0; i < bucket->count; i++) {
        if (!isfinite(element_round(type, bucket->sum[i])) &&
            isfinite(element_load(type, result, first + i)))
            outcome->laundered++;
    }
}

/* SQUARES of the errors of a bucket, with what rounding to the type adds. */
static void compare_rotated(const struct bucket *bucket, double squares, struct outcome *outcome)
{
    double allowed = share(bucket->scheme) * bucket->steps, rounding = 0;

    for (size_t i = 0; i < bucket->count; i++)
        rounding += pow(element_half_ulp(bucket->scheme->type, fabs(bucket->sum[i]) + allowed), 2);
    allowed += sqrt(rounding) + bucket->ranks * 0x1p-20 * norm_of(bucket, bucket->sum);
    if (squares > 0)
        outcome->worst = fmax(outcome->worst, sqrt(squares) / allowed);
    outcome->model += bucket->model;
}

static void compare_bucket(struct bucket *bucket, enum data_kind kind, uint64_t seed, size_t first,
                           const void *result, struct outcome *outcome)
{
    double before;

    for (int p = 0; p < bucket->ranks; p++) {
        for (size_t i = 0; i < bucket->count; i++)
            bucket->inputs[(size_t)p * bucket->scheme->bucket + i] =
                data_value(kind, bucket->scheme->type, seed, p, first + i);
    }
    study(bucket);
    if (is_fragile(bucket)) {
        find_laundered(bucket, first, result, outcome);
        return;
    }
    before = outcome->square;
    for (size_t i = 0; i < bucket->count; i++)
        compare(bucket, i, element_load(bucket->scheme->type, result, first + i), outcome);
    if (bucket->scheme->rotated > 0)
        compare_rotated(bucket, outcome->square - before, outcome);
    else
        outcome->model += bucket->model * (double)bucket->count;
}

void bound_compare(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                   const void *result, MPI_Comm comm, struct outcome *outcome)
{
    struct bucket bucket = {.scheme = scheme};
    int rank;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &bucket.ranks);
    bucket.inputs = check_memory((size_t)bucket.ranks * scheme->bucket * sizeof(double));
    bucket.sum = check_memory(scheme->bucket * sizeof(double));
    bucket.partial = check_memory(scheme->bucket * sizeof(double));
    for (size_t k = (size_t)rank; k * scheme->bucket < count; k += (size_t)bucket.ranks) {
        size_t first = k * scheme->bucket;

        bucket.count = count - first < scheme->bucket ? count - first : scheme->bucket;
        compare_bucket(&bucket, kind, seed, first, result, outcome);
    }
    free(bucket.inputs);
    free(bucket.sum);
    free(bucket.partial);
}

void bound_gather(struct outcome *outcome, MPI_Comm comm)
{
    double sums[] = {outcome->square, outcome->model, outcome->fragile, outcome->laundered};

    PMPI_Allreduce(MPI_IN_PLACE, &outcome->worst, 1, MPI_DOUBLE, MPI_MAX, comm);
    PMPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, comm);
    outcome->square = sums[0];
    outcome->model = sums[1];
    outcome->fragile = sums[2];
    outcome->laundered = sums[3];
}

/* The largest error of all ranks' shares, over its bound. */
static double worst(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                    const void *result, MPI_Comm comm)
{
    struct outcome outcome = {0, 0, 0, 0, 0};

    bound_compare(scheme, kind, seed, count, result, comm, &outcome);
    bound_gather(&outcome, comm);
    return outcome.worst;
}

static bool is_compressed(const struct scheme *scheme, double error)
{
    return scheme->bits < 32 && error <= 1 && error > 0x1p-4;
}

bool bound_holds(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                 const void *result, MPI_Comm comm)
{
    return worst(scheme, kind, seed, count, result, comm) <= 1;
}

struct judged bound_judge(const struct sum *sum, MPI_Comm comm)
{
    const struct scheme scheme = scheme_from_environment(sum->type);
    size_t bytes = sum->count * element_size(sum->type);
    void *result = check_memory(bytes);
    struct judged judged = {.right = sum_reduce(sum, comm, result)};
    double error = worst(&scheme, sum->kind, sum->seed, sum->count, result, comm);

    judged.right = error <= 1 && judged.right;
    judged.same = check_same(result, bytes, comm);
    judged.compressed = is_compressed(&scheme, error);
    judged.digest = check_digest(result, bytes);
    free(result);
    return judged;
}

bool bound_compressed(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                      const void *result, MPI_Comm comm)
{
    double error = worst(scheme, kind, seed, count, result, comm);

    return is_compressed(scheme, error);
}
