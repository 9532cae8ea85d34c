/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/op_probe.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "mpi/table.h"

#define LONGEST_RUN 33
#define MARGIN 256 /* bytes on either side that the function must leave alone */
#define CANARY 0xA5

/* A 16-bit type. Without the sign, words are in the order of their numbers. */
struct half {
    enum cgx_op_class sum;
    uint16_t normal;   /* the smallest normal number; words below are subnormal or 0 */
    uint16_t one;      /* 1.0 */
    uint16_t infinity; /* the word before is the largest number, those after are NaN */
    float (*to_float)(uint16_t word);
    uint16_t (*from_float)(float value);
};

static const struct half halves[] = {
    {CGX_OP_SUM_FLOAT16, 0x0400, 0x3C00, 0x7C00, cgx_from_float16, cgx_to_float16},
    {CGX_OP_SUM_BFLOAT16, 0x0080, 0x3F80, 0x7F80, cgx_from_bfloat16, cgx_to_bfloat16},
};

/* ---- pairs of numbers ---- */

#define EDGES 12
#define PAIRS (EDGES * EDGES + 64)
#define STRIDE 55 /* has no factor in common with PAIRS */

struct pair {
    uint16_t a, b;
};

static uint16_t ordinary_number(const struct half *half, uint32_t *random)
{
    uint16_t span = (uint16_t)(16 * half->normal);

    *random = *random * 1664525u + 1013904223u;
    return (uint16_t)((half->one - span / 2 + (*random >> 16) % span) | (*random >> 31 << 15));
}

/* The N-th pair: all pairs of numbers where something changes, and others within a factor of 256
 * of 1.0, mixed so that both meet every length of run. */
static struct pair make_pair(const struct half *half, unsigned n)
{
    const uint16_t edges[EDGES] = {0,
                                   0x8000,
                                   1,
                                   0x8001,
                                   half->normal - 1,
                                   half->normal,
                                   half->normal + 0x8001,
                                   half->one,
                                   half->one + 0x8000,
                                   half->one + 1,
                                   half->infinity - 1,
                                   half->infinity + 0x7FFF};
    unsigned index = n * STRIDE % PAIRS;
    uint32_t random = index;
    struct pair pair;

    if (index < EDGES * EDGES) {
        pair.a = edges[index / EDGES];
        pair.b = edges[index % EDGES];
    } else {
        pair.a = ordinary_number(half, &random);
        pair.b = ordinary_number(half, &random);
    }
    return pair;
}

/* ---- verdict on a result ---- */

static int magnitude(uint16_t word)
{
    return word & 0x7FFF;
}

/* Place of the word's number among all; both zeros have the same. */
static int place(uint16_t word)
{
    return (word & 0x8000) != 0 ? -magnitude(word) : magnitude(word);
}

static bool is_sum(const struct half *half, struct pair pair, uint16_t result)
{
    double sum = (double)half->to_float(pair.a) + (double)half->to_float(pair.b);
    uint16_t nearest = half->from_float((float)sum);

    return abs(place(result) - place(nearest)) <= 1 ||
           (magnitude(nearest) < half->normal && magnitude(result) == 0);
}

static uint16_t flushed(const struct half *half, uint16_t word)
{
    return magnitude(word) < half->normal ? 0 : word;
}

static bool is_acceptable(const struct half *half, struct pair pair, uint16_t result)
{
    struct pair flush = {flushed(half, pair.a), flushed(half, pair.b)};

    return magnitude(result) <= half->infinity &&
           (is_sum(half, pair, result) || is_sum(half, flush, result));
}

static bool is_nonfinite(const struct half *half, struct pair pair, uint16_t result)
{
    (void)pair;
    return magnitude(result) >= half->infinity;
}

/* ---- calling the function ---- */

/* The words of a run, with a margin around them. */
struct guarded {
    _Alignas(64) unsigned char bytes[MARGIN + LONGEST_RUN * sizeof(uint16_t) + MARGIN];
};

static uint16_t *words(struct guarded *guarded)
{
    return (uint16_t *)(guarded->bytes + MARGIN);
}

static bool is_intact(const struct guarded *guarded, unsigned length)
{
    size_t end = MARGIN + length * sizeof(uint16_t);

    for (size_t i = 0; i < sizeof guarded->bytes; i++)
        if ((i < MARGIN || i >= end) && guarded->bytes[i] != CANARY)
            return false;
    return true;
}

typedef bool judge(const struct half *half, struct pair pair, uint16_t result);

/* Whether the function does with a run of PAIRS what IS_RIGHT says, and writes nowhere else. */
static bool passes(const struct half *half, const struct cgx_op_source *source,
                   cgx_mpi_datatype datatype, const struct pair *pairs, unsigned length,
                   judge *is_right)
{
    struct guarded in, inout;

    memset(&in, CANARY, sizeof in);
    memset(&inout, CANARY, sizeof inout);
    for (unsigned i = 0; i < length; i++) {
        words(&in)[i] = pairs[i].a;
        words(&inout)[i] = pairs[i].b;
    }
    cgx_mpi()->call_op(source->function, source->large, words(&in), words(&inout), (int)length,
                       datatype);
    for (unsigned i = 0; i < length; i++)
        if (!is_right(half, pairs[i], words(&inout)[i]))
            return false;
    return is_intact(&in, length) && is_intact(&inout, length);
}

/* Whether infinities and NaN come through: an op that takes NaN for missing, say, is no sum. */
static bool keeps_nonfinite(const struct half *half, const struct cgx_op_source *source,
                            cgx_mpi_datatype datatype)
{
    const uint16_t infinity = half->infinity, nan = half->infinity + 1;
    const struct pair pairs[] = {{infinity, half->one}, {half->one, infinity},
                                 {infinity, infinity},  {infinity | 0x8000, half->one},
                                 {nan, half->one},      {half->one, nan},
                                 {nan, infinity},       {infinity, infinity | 0x8000}};

    return passes(half, source, datatype, pairs, sizeof pairs / sizeof pairs[0], is_nonfinite);
}

static bool sums(const struct half *half, const struct cgx_op_source *source,
                 cgx_mpi_datatype datatype)
{
    static const unsigned lengths[] = {1, 7, 8, LONGEST_RUN};
    struct pair pairs[LONGEST_RUN];
    unsigned first = 0;

    for (unsigned run = 0; first < PAIRS; run++) {
        unsigned length = lengths[run % 4];

        if (length > PAIRS - first)
            length = PAIRS - first;
        for (unsigned i = 0; i < length; i++)
            pairs[i] = make_pair(half, first + i);
        if (!passes(half, source, datatype, pairs, length, is_acceptable))
            return false;
        first += length;
    }
    return keeps_nonfinite(half, source, datatype);
}

enum cgx_op_class cgx_op_try(const struct cgx_op_source *source, cgx_mpi_datatype datatype)
{
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        if (sums(&halves[i], source, datatype))
            return halves[i].sum;
    return CGX_OP_UNKNOWN;
}
