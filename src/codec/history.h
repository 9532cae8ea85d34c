/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of history scaling, one definition for every backend: of each element of a buffer
 * that recurs all ranks know how large its sums have been, by the sums that they all had, and
 * quantisation is of elements divided by that (doc/format.md). Adam and its kin divide a gradient
 * by its own past in the same way: what is lost is then in proportion to what they use.
 *
 * A scale is 1 + 8 r / m, r being the root of a decaying mean of the element's squared sums, and m
 * the root of the mean of r^2 over the bucket. Scales are stored as 8 bits, 3 of exponent and 5 of
 * mantissa, from 1 to 252; what lies between two of them becomes one of both by chance, the same on
 * all ranks. The unit m / 8 is stored for each block of elements, of which a bucket has one or
 * more. All zeros: there is no history yet.
 *
 * The mean begins as if there had been sums in which all elements were alike, since one that is
 * small in the first sum need not be in the next. From CGX_HISTORY_YOUNG sums on it decays, and a
 * bucket learns from one sum in four. */
#ifndef CGX_CODEC_HISTORY_H
#define CGX_CODEC_HISTORY_H

#include "codec/quant.h"

#define CGX_HISTORY_WIDEST 252.0f

#define CGX_HISTORY_YOUNG 24

/* Elements of a block: a bucket of each family has one or several. */
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

/* Whether a bucket, whose first block has UNIT, learns from the call, with a history of AGE sums:
 * by chance, the same on all ranks. FIRST: its first element in the buffer, modulo 2^32; KEY is
 * cgx_call_key's. */
CGX_QUANT int cgx_history_is_due(uint32_t key, uint32_t first, float unit, uint32_t age)
{
    return age < CGX_HISTORY_YOUNG || unit == 0.0f || cgx_mix(~key - first) >> 30 == 0;
}

/* What a sum counts in the mean of a bucket whose first block has UNIT. */
CGX_QUANT float cgx_history_weight(float unit, uint32_t age)
{
    return unit == 0.0f ? 0.4f : age < CGX_HISTORY_YOUNG ? 2.0f / (float)(age + 5) : 0.04f;
}

/* The mean of the squares, after RESULT. */
CGX_QUANT float cgx_history_mean(uint32_t code, float unit, float weight, float result)
{
    float before = (cgx_history_scale(code) - 1.0f) * unit;

    return (1.0f - weight) * (before * before) + weight * (result * result);
}

/* Whether means, of which SUM is that over the bucket, may be stored. Not where a result was not
 * finite: the bucket's history stays as it was. */
CGX_QUANT int cgx_history_is_known(float sum)
{
    return sum < 0x1p126f;
}

/* What sums in which all were alike add to each mean of a bucket of COUNT elements, whose first
 * block had UNIT; 0: it is in them. */
CGX_QUANT float cgx_history_alike(float unit, float sum, float count)
{
    return unit == 0.0f ? sum / count : 0.0f;
}

/* The unit of the bucket; 0: it has no history. */
CGX_QUANT float cgx_history_unit(float sum, float count, float alike)
{
    return sum > 0x1p-100f ? sqrtf(sum / count + alike) * 0.125f : 0.0f;
}

/* Random bits of element INDEX of the buffer, modulo 2^32. */
CGX_QUANT uint32_t cgx_history_random(uint32_t key, uint32_t index)
{
    return index * 0x9E3779B9u + key;
}

/* How MEAN is stored. INVERSE is 1/unit; 0: there is no history. */
CGX_QUANT uint32_t cgx_history_code(float mean, float inverse, uint32_t random)
{
    uint32_t bits = cgx_float_bits(1.0f + sqrtf(mean) * inverse) - 0x3F800000u;
    uint32_t code = (bits + (random >> 14)) >> 18;

    return code < 255 ? code : 255;
}

#endif
