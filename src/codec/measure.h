/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What quantising would cost in error at every width: measured on a sample of buckets, not
 * modelled, since n u^2 / 12 is wrong by up to ten times for sparse and heavy-tailed data. Sums are
 * of integers, so that every backend gives the same whatever order it adds in. */
#ifndef CGX_CODEC_MEASURE_H
#define CGX_CODEC_MEASURE_H

#include "codec/format.h"
#include "codec/quant.h"

/* One bucket of each block of this many in a piece is measured, never the same place twice running,
 * so that rows of a matrix do not alias. The last block may be incomplete and lack it. All of them
 * in one step, or each in one of several: the work is the same. */
#define CGX_SAMPLE_BLOCK 4

/* The most steps that they may be spread over, and the buckets of which one is then measured in a
 * step. */
#define CGX_SAMPLE_PHASES 16
#define CGX_SAMPLE_GROUP (CGX_SAMPLE_BLOCK * CGX_SAMPLE_PHASES)

/* Which of them a step measures: phase PHASE, from 0, of PHASES, a power of two up to
 * CGX_SAMPLE_PHASES; both 0: all, as with 1. No bucket is measured in two phases. A piece of few
 * buckets has samples in some only, in phase 0 at least. */
struct cgx_sampling {
    uint32_t phases, phase;
};

/* Buckets of which one is measured. */
CGX_QUANT size_t cgx_sample_group(struct cgx_sampling sampling)
{
    return CGX_SAMPLE_BLOCK * (size_t)(sampling.phases > 1 ? sampling.phases : 1);
}

/* The bucket of a piece, counted from its first, that sample INDEX is of. A block's turn in its
 * group moves on from group to group. */
CGX_QUANT size_t cgx_sample_bucket(size_t index, struct cgx_sampling sampling)
{
    size_t blocks = sampling.phases > 1 ? sampling.phases : 1;
    size_t block = index * blocks + ((size_t)sampling.phase * 5 + index * 3) % blocks;

    return block * CGX_SAMPLE_BLOCK + block % CGX_SAMPLE_BLOCK;
}

/* Samples of a piece of BUCKETS buckets. */
CGX_QUANT size_t cgx_sample_count(size_t buckets, struct cgx_sampling sampling)
{
    size_t whole = buckets / cgx_sample_group(sampling);

    return whole + (cgx_sample_bucket(whole, sampling) < buckets);
}

/* One measured bucket. With d = fma(x, 1/u, -(q + z)) the distance of an element from its level in
 * steps, and t = d * 1024 rounded to an integer, halves to even, SQUARES holds the sum of t^2: the
 * squared error in units of u^2 2^-20. For stochastic rounding it is the expected error: with d the
 * distance from the nearest integer, the sum of |t| (1024 - |t|), which the fraction of x/u would
 * give too, and nothing for 1 bit. All zero where the bucket is constant or poisoned. u is that of
 * cgx_grid_over for MIN, MAX. A zero is +0.
 *
 * POWER is the sum of t^2 for distances from 0, in steps of cgx_sample_grid: it is what the error
 * of other families is a part of. Zero where the bucket is poisoned. */
struct cgx_sample {
    float min, max;               /* both NaN: the bucket is poisoned at every width */
    uint32_t squares[CGX_WIDTHS]; /* by width - 1 */
    uint32_t power;
};

/* The squared error of the bucket at BITS, a sum over its elements; NaN if it is poisoned, and else
 * INFINITY at 1 bit for stochastic rounding. */
double cgx_sample_error(const struct cgx_sample *sample, enum cgx_rounding rounding, unsigned bits);

/* The sum of the squares of the bucket's elements; NaN if it is poisoned. */
double cgx_sample_second_moment(const struct cgx_sample *sample);

/* Of elements from MIN to MAX, a grid whose step is a power of two: the largest magnitude is a
 * quarter of it or more, unless it is below 2^-126, and less than half. It has only the fields that
 * squares are found from. */
CGX_QUANT struct cgx_grid cgx_sample_grid(float min, float max)
{
    float magnitude = -min > max ? -min : max;
    struct cgx_grid grid = {0.0f, 0.0f, 0};

    grid.inv = cgx_bits_float((252u << 23) - (cgx_float_bits(magnitude) & 0x7F800000u));
    return grid;
}

/* ---- what an element adds to SQUARES ---- */

/* t of X at the level u * NEAREST, which is at most 3/4 of a step away. The product has 48
 * significant bits. Where NEAREST is not 0 it is 1/4 or more, a multiple of 2^-49 therefore, and so
 * is the difference, of magnitude below 1: double holds both, and either form rounds once. */
CGX_QUANT int32_t cgx_sample_distance(float x, float inv, int32_t nearest)
{
#if defined(__CUDACC__) || defined(__FP_FAST_FMAF)
    float d = fmaf(x, inv, -(float)nearest);
#else
    float d = (float)((double)x * (double)inv - (double)nearest);
#endif
    /* As in cgx_round_product_fma; d * 1024 is exact. */
    return (int32_t)(cgx_float_bits(d * 1024.0f + 0x1.8p23f) - 0x4B400000u);
}

CGX_QUANT uint32_t cgx_square_nearest(float x, struct cgx_grid grid, unsigned bits)
{
    int32_t code = (int32_t)cgx_code_nearest(x, grid, bits);
    int32_t t = cgx_sample_distance(x, grid.inv, code + grid.z);

    return (uint32_t)(t * t);
}

CGX_QUANT uint32_t cgx_square_stochastic(float x, struct cgx_grid grid)
{
    int32_t t = cgx_sample_distance(x, grid.inv, cgx_round_product(x, grid.inv));

    return (uint32_t)(t < 0 ? -t * (1024 + t) : t * (1024 - t));
}

/* On a grid of cgx_sample_grid: what cgx_square_nearest is at any width, since the nearest level is
 * 0. */
CGX_QUANT uint32_t cgx_square_power(float x, struct cgx_grid grid)
{
    int32_t t = cgx_sample_distance(x, grid.inv, 0);

    return (uint32_t)(t * t);
}

#endif
