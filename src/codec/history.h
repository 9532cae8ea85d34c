/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of history scaling, one definition for every backend. All ranks know how large the
 * sums of each element of a recurring buffer have been, since all have received them; elements are
 * quantised after division by that size (doc/format.md). Adam and similar optimisers divide a
 * gradient by its own past in the same way, so the error is in proportion to what they use.
 *
 * A scale is 1 + 8 r / m: r is the root of a decaying mean of the element's squared sums, m the
 * root of the mean of r^2 over the bucket. A scale, from 1 to 252, is stored in 8 bits, 3 of
 * exponent and 5 of mantissa, rounded stochastically but alike on all ranks. The unit m / 8 is
 * stored for each block of elements; a bucket has one or more blocks. All zeros: no history yet.
 *
 * The mean begins as if earlier sums had been equal in all elements, since an element that is small
 * in the first sum need not be in the next. From CGX_HISTORY_YOUNG sums on the mean decays, and a
 * bucket learns from one sum in four. */
#ifndef CGX_CODEC_HISTORY_H
#define CGX_CODEC_HISTORY_H

#include "codec/quant.h"

#define CGX_HISTORY_WIDEST 252.0f

#define CGX_HISTORY_YOUNG 24

/* Elements of a block: a bucket of any family has one or several. */
#define CGX_HISTORY_BLOCK_MAX 1024u
CGX_QUANT uint32_t cgx_history_block(uint32_t bucket_size)
{
    return bucket_size < CGX_HISTORY_BLOCK_MAX ? bucket_size : CGX_HISTORY_BLOCK_MAX;
}

CGX_QUANT float cgx_history_scale(uint32_t code)
{
    return cgx_bits_float(0x3F800000u + (code << 18));
}

/* 1/scale, rounded to nearest. */
CGX_QUANT float cgx_history_inverse(uint32_t code)
{
    return cgx_reciprocal(cgx_history_scale(code));
}

/* Whether a bucket whose first block has UNIT learns from this call, with a history of AGE sums:
 * random, but alike on all ranks. FIRST: its first element in the buffer, modulo 2^32. KEY:
 * cgx_call_key's. */
CGX_QUANT int cgx_history_is_due(uint32_t key, uint32_t first, float unit, uint32_t age)
{
    return age < CGX_HISTORY_YOUNG || unit == 0.0f || cgx_mix(~key - first) >> 30 == 0;
}

/* The weight of a sum in the mean of a bucket whose first block has UNIT. */
CGX_QUANT float cgx_history_weight(float unit, uint32_t age)
{
    return unit == 0.0f ? 0.4f : age < CGX_HISTORY_YOUNG ? 2.0f / (float)(age + 5) : 0.04f;
}

/* The mean of the squares, RESULT included. */
CGX_QUANT float cgx_history_mean(uint32_t code, float unit, float weight, float result)
{
    float before = (cgx_history_scale(code) - 1.0f) * unit;

    return (1.0f - weight) * (before * before) + weight * (result * result);
}

/* Whether the means of a bucket, which add up to SUM, may be stored. If a result was not finite
 * they may not, and the bucket keeps its history. */
CGX_QUANT int cgx_history_is_known(float sum)
{
    return sum < 0x1p126f;
}

/* What earlier sums of equal elements add to each mean of a bucket of COUNT elements, whose first
 * block had UNIT; 0 if the means contain it. */
CGX_QUANT float cgx_history_alike(float unit, float sum, float count)
{
    return unit == 0.0f ? sum / count : 0.0f;
}

/* The unit of the bucket; 0: no history. */
CGX_QUANT float cgx_history_unit(float sum, float count, float alike)
{
    return sum > 0x1p-100f ? sqrtf(sum / count + alike) * 0.125f : 0.0f;
}

/* Random bits of element INDEX of the buffer, modulo 2^32. */
CGX_QUANT uint32_t cgx_history_random(uint32_t key, uint32_t index)
{
    return index * 0x9E3779B9u + key;
}

/* The code that MEAN is stored as. INVERSE: 1/unit; 0: no history. */
CGX_QUANT uint32_t cgx_history_code(float mean, float inverse, uint32_t random)
{
    uint32_t bits = cgx_float_bits(1.0f + sqrtf(mean) * inverse) - 0x3F800000u;
    uint32_t code = (bits + (random >> 14)) >> 18;

    return code < 255 ? code : 255;
}

#endif
