/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bound_study.h"
#include "check.h"

struct scheme scheme_from_environment(enum element type)
{
    const char *bits = getenv("CGX_COMPRESSION_QUANTIZATION_BITS");
    const char *nodes = getenv("CGX_TOPOLOGY");
    const char *per_node = nodes ? strchr(nodes, 'x') : NULL;
    struct scheme scheme = {
        .type = type,
        .bits = bits ? (unsigned)atoi(bits) : 4,
        .bucket = CHECK_BUCKET,
        .grid = check_set("CGX_CROSS_REDUCTION_TYPE", "GRID"),
        .per_node = per_node ? atoi(per_node + 1) : 0,
    };

    return scheme;
}

/* Compares element I of the bucket with its bound. */
static void compare(const struct bucket *bucket, size_t i, double result, struct outcome *outcome)
{
    double error = fabs(result - bucket->sum[i]);
    double magnitude = bucket->steps;
    double allowed = BOUND_SHARE * bucket->steps;

    for (int p = 0; p < bucket->ranks; p++)
        magnitude += fabs(bucket->inputs[(size_t)p * bucket->scheme->bucket + i]);
    allowed += bucket->ranks * 0x1p-24 * magnitude;
    allowed += element_half_ulp(bucket->scheme->type, fabs(bucket->sum[i]) + allowed);
    if (!(error <= INFINITY)) /* NaN */
        error = INFINITY;
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
    double slack = BOUND_SHARE * bucket->steps * (scheme->per_node > 0 ? 4 : 1);

    for (size_t i = 0; i < bucket->count; i++) {
        double sum = fabs(bucket->sum[i]), magnitude = 0;

        for (int p = 0; p < bucket->ranks; p++) {
            double x = fabs(bucket->inputs[(size_t)p * scheme->bucket + i]);

            if (!(x < limit))
                return true;
            magnitude += x;
        }
        sum = scheme->per_node > 0 ? magnitude : sum;
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
    double error = BOUND_SHARE * bucket->steps;

    outcome->fragile++;
    for (size_t i = 0; i < bucket->count; i++) {
        double sum = bucket->sum[i];

        if (isfinite(sum))
            sum = fmax(fabs(sum) * (1 - 0x1p-20) - error, 0);
        if (!isfinite(element_round(type, sum)) && isfinite(element_load(type, result, first + i)))
            outcome->laundered++;
    }
}

static void compare_bucket(struct bucket *bucket, enum data_kind kind, uint64_t seed, size_t first,
                           const void *result, struct outcome *outcome)
{
    for (int p = 0; p < bucket->ranks; p++)
        data_values(kind, bucket->scheme->type, seed, p, first, bucket->count,
                    bucket->inputs + (size_t)p * bucket->scheme->bucket);
    bound_study(bucket);
    if (is_fragile(bucket)) {
        find_laundered(bucket, first, result, outcome);
        return;
    }
    for (size_t i = 0; i < bucket->count; i++)
        compare(bucket, i, element_load(bucket->scheme->type, result, first + i), outcome);
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
    bucket.row = check_memory(scheme->bucket * sizeof(double));
    for (size_t k = (size_t)rank; k * scheme->bucket < count; k += (size_t)bucket.ranks) {
        size_t first = k * scheme->bucket;

        bucket.count = count - first < scheme->bucket ? count - first : scheme->bucket;
        compare_bucket(&bucket, kind, seed, first, result, outcome);
    }
    free(bucket.inputs);
    free(bucket.sum);
    free(bucket.partial);
    free(bucket.row);
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
