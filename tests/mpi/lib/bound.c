/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "oracle.h"

struct scheme scheme_from_environment(enum element type)
{
    const char *bits = getenv("CGX_COMPRESSION_QUANTIZATION_BITS");
    const char *nodes = getenv("CGX_TOPOLOGY");
    const char *per_node = nodes ? strchr(nodes, 'x') : NULL;
    struct scheme scheme = {
        .type = type,
        .bits = bits ? (unsigned)atoi(bits) : 4,
        .bucket = check_bucket(),
        .per_node = per_node ? atoi(per_node + 1) : 0,
    };

    return scheme;
}

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

/* Of all ranks' shares. */
static struct oracle_verdict judge(const struct scheme *scheme, enum data_kind kind, uint64_t seed,
                                   size_t count, const void *result, MPI_Comm comm)
{
    const struct placed sum = {.kind = kind, .type = scheme->type, .seed = seed, .count = count};
    struct oracle oracle = oracle_from_environment(scheme->type, comm);
    struct oracle_verdict verdict;
    int rank;

    PMPI_Comm_rank(comm, &rank);
    oracle_set(&oracle, scheme->bits, ORACLE_MAXMIN);
    verdict = oracle_judge(&oracle, &sum, rank, 0, result);
    if (!verdict.right)
        check_note("element %zu is %.9g, and the sum is %.9g: more than %.3g off", verdict.element,
                   verdict.result, verdict.exact, verdict.allowed);
    verdict.right = check_everywhere(verdict.right, comm);
    verdict.compressed = !check_everywhere(!verdict.compressed, comm);
    return verdict;
}

bool bound_holds(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                 const void *result, MPI_Comm comm)
{
    return judge(scheme, kind, seed, count, result, comm).right;
}

bool bound_compressed(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                      const void *result, MPI_Comm comm)
{
    struct oracle_verdict verdict = judge(scheme, kind, seed, count, result, comm);

    return verdict.right && verdict.compressed;
}

struct judged bound_judge(const struct sum *sum, MPI_Comm comm)
{
    const struct scheme scheme = scheme_from_environment(sum->type);
    size_t bytes = sum->count * element_size(sum->type);
    void *result = check_memory(bytes);
    struct judged judged = {.right = sum_reduce(sum, comm, result)};
    struct oracle_verdict verdict = judge(&scheme, sum->kind, sum->seed, sum->count, result, comm);

    judged.right = verdict.right && judged.right;
    judged.same = check_same(result, bytes, comm);
    judged.compressed = verdict.compressed;
    free(result);
    return judged;
}
