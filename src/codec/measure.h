/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The error that quantising would cause at each width, measured on a sample of buckets. It is not
 * modelled, since n u^2 / 12 is wrong by up to ten times for sparse and heavy-tailed data. Sums are
 * of integers, so every backend gives the same result in any order of addition. */
#ifndef CGX_CODEC_MEASURE_H
#define CGX_CODEC_MEASURE_H

#include "codec/format.h"
#include "codec/quant.h"

/* Of every CGX_SAMPLE_BLOCK buckets of a piece (a block) one is measured, never in the same place
 * of two successive blocks, so that rows of a matrix do not alias. The last block may be incomplete
 * and have none. One step measures all blocks, or several steps share them: the work is the
 * same. */
#define CGX_SAMPLE_BLOCK 4

/* The largest number of steps (phases) that share the blocks, and the buckets of which one is then
 * measured in a step. */
#define CGX_SAMPLE_PHASES 16
#define CGX_SAMPLE_GROUP (CGX_SAMPLE_BLOCK * CGX_SAMPLE_PHASES)

/* The blocks that a step measures: those of phase PHASE, from 0, of PHASES, a power of two up to
 * CGX_SAMPLE_PHASES; both 0: all, as with 1. No bucket is measured in two phases. A small piece has
 * samples in some phases only, always in phase 0. */
struct cgx_sampling {
    uint32_t phases, phase;
};

/* The number of buckets of which one is measured. */
CGX_QUANT size_t cgx_sample_group(struct cgx_sampling sampling)
{
    return CGX_SAMPLE_BLOCK * (size_t)(sampling.phases > 1 ? sampling.phases : 1);
}

/* The bucket of sample INDEX, counted from the piece's first. The block that is measured changes
 * from group to group. */
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

/* One measured bucket. SQUARES holds the sum of t^2 over its elements: the squared error in units
 * of u^2 2^-20. Here d = fma(x, 1/u, -(q + z)) is the distance of an element from its level in
 * steps, and t is d * 1024 rounded to an integer, halves to even. All SQUARES are 0 if the bucket
 * is constant or poisoned. u is that of cgx_grid_over for MIN, MAX. A zero is +0.
 *
 * POWER is the sum of t^2 for distances from 0, in steps of cgx_sample_grid: the error of other
 * families is a part of it. It is 0 if the bucket is poisoned. */
struct cgx_sample {
    float min, max;               /* both NaN: poisoned at every width */
    uint32_t squares[CGX_WIDTHS]; /* by width - 1 */
    uint32_t power;
};

/* A sampled bucket of a payload: its step and the sum of the squares of its elements, which every
 * backend forms in the order of squares.h. If it is poisoned STEP is NaN and SQUARES 0. */
struct cgx_moment {
    double squares;
    float step;
    uint32_t unused;
};

/* The squared error of the bucket at BITS, summed over its elements. NaN if it is poisoned. */
double cgx_sample_error(const struct cgx_sample *sample, unsigned bits);

/* The sum of the squares of the bucket's elements; NaN if it is poisoned. */
double cgx_sample_second_moment(const struct cgx_sample *sample);

/* A grid for elements from MIN to MAX whose step is a power of two. The largest magnitude is less
 * than half a step, and at least a quarter unless it is below 2^-126. Only the fields that squares
 * need are set. */
CGX_QUANT struct cgx_grid cgx_sample_grid(float min, float max)
{
    float magnitude = -min > max ? -min : max;
    struct cgx_grid grid = {0.0f, 0.0f, 0};

    grid.inv = cgx_bits_float((252u << 23) - (cgx_float_bits(magnitude) & 0x7F800000u));
    return grid;
}

/* ---- the share of one element in SQUARES ---- */

/* t of X at the level u * NEAREST, at most 3/4 of a step away. The product has 48 significant bits.
 * If NEAREST is not 0, the product is at least 1/4, so it is a multiple of 2^-49, as is the
 * difference, of magnitude below 1: double represents both exactly, and either form rounds once. */
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

/* On a grid of cgx_sample_grid: equals cgx_square_nearest at any width, since the nearest level is
 * 0. */
CGX_QUANT uint32_t cgx_square_power(float x, struct cgx_grid grid)
{
    int32_t t = cgx_sample_distance(x, grid.inv, 0);

    return (uint32_t)(t * t);
}

#endif
