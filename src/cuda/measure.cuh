/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The errors of quantising the sampled buckets of a piece (codec/measure.h). A block measures
 * CGX_KERNEL_TILE / bucket_size buckets, one from each group of cgx_sample_group buckets; its tile
 * is these groups. */
#ifndef CGX_CUDA_MEASURE_CUH
#define CGX_CUDA_MEASURE_CUH

#include "codec/measure.h"
#include "cuda/encode.cuh"

/* The samples of a block. */
struct cgx_samples {
    struct cgx_tile tile;
    uint64_t first; /* the block's first sample, counted in its piece */
    uint64_t at;    /* the same, counted in all pieces */
};

/* The number of samples of the pieces before PIECE, counted by one warp. */
CGX_DEVICE uint64_t samples_before(const struct cgx_kernel_args &args, uint32_t piece)
{
    const struct cgx_kernel_piece *pieces = args.pieces;
    int shift = __ffs((int)args.bucket_size) - 1;
    uint64_t samples = 0;

    for (uint32_t i = threadIdx.x; i < piece; i += 32)
        if (pieces[i].bits <= CGX_WIDTHS)
            samples +=
                cgx_sample_count((pieces[i].count + args.bucket_size - 1) >> shift, args.sampling);
    for (int distance = 1; distance < 32; distance *= 2)
        samples += __shfl_xor_sync(0xFFFFFFFFu, (unsigned long long)samples, distance);
    return samples;
}

/* The samples of this block, found by one warp for all of them. */
CGX_DEVICE const struct cgx_samples *find_samples(const struct cgx_kernel_args &args)
{
    __shared__ struct cgx_samples found;

    if (threadIdx.x < 32) {
        uint32_t piece = find_entry(args.pieces, args.npieces, blockIdx.x);
        uint32_t index = blockIdx.x - args.pieces[piece].tile;
        uint64_t before = samples_before(args, piece);

        if (threadIdx.x == 0) {
            lay_out(&args.pieces[piece], index, cgx_kernel_measured(args.sampling),
                    args.bucket_size, 0, &found.tile);
            found.first = (uint64_t)index * (CGX_KERNEL_TILE / args.bucket_size);
            found.at = before + found.first;
        }
    }
    __syncthreads();
    return &found;
}

enum cgx_square { CGX_SQUARE_NEAREST, CGX_SQUARE_POWER };

/* The squares on GRID, which has BITS, of the thread's elements, without missing ones. */
template <enum cgx_square KIND>
CGX_DEVICE uint32_t thread_squares(const struct cgx_place *place, struct cgx_grid grid,
                                   uint32_t bits, const cgx_values values)
{
    uint32_t squares = 0;

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++) {
        float value = values[i / CGX_GROUP][i % CGX_GROUP];
        uint32_t square = KIND == CGX_SQUARE_POWER ? cgx_square_power(value, grid)
                                                   : cgx_square_nearest(value, grid, bits);

        squares += (uint32_t)(i % CGX_GROUP) < place->counts[i / CGX_GROUP] ? square : 0;
    }
    return squares;
}

/* The sum of VALUE over the lanes of a bucket or, if it has several warps, of each warp. */
CGX_DEVICE uint32_t lanes_sum(const struct cgx_place *place, uint32_t value)
{
    uint32_t lanes = place->threads < 32 ? place->threads : 32;

    for (uint32_t distance = 1; distance < lanes; distance *= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, (int)distance);
    return value;
}

/* The sums of a sample: squares by width - 1, and last its power. */
enum { CGX_SAMPLE_SUMS = CGX_WIDTHS + 1 };

CGX_DEVICE uint32_t *sum_in(struct cgx_sample *sample, uint32_t number)
{
    return number < CGX_WIDTHS ? &sample->squares[number] : &sample->power;
}

/* Adds up the threads' VALUE as sum NUMBER of SAMPLE or, if a bucket has several warps, as that of
 * each warp in WARPS. */
CGX_DEVICE void take_sum(const struct cgx_place *place, uint32_t number, uint32_t value,
                         uint32_t (*warps)[CGX_SAMPLE_SUMS], struct cgx_sample *sample)
{
    value = lanes_sum(place, value);
    if (place->threads > 32 && threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32][number] = value;
    else if (place->threads <= 32 && place->thread == 0 && place->count > 0)
        *sum_in(sample, number) = value;
}

/* Writes the SAMPLE of a bucket from its threads' values. All threads of the block must call it. */
CGX_DEVICE void write_sample(const struct cgx_place *place, const cgx_values values,
                             struct cgx_sample *sample)
{
    __shared__ uint32_t warps[CGX_KERNEL_THREADS / 32][CGX_SAMPLE_SUMS];
    struct cgx_range range = bucket_range(place, values);
    bool is_poisoned = !(range.max < 0x1p125f && range.min > -0x1p125f);
    bool is_finite = place->count > 0 && !is_poisoned;
    uint32_t first = (threadIdx.x - place->thread) / 32; /* first warp of the bucket */
    uint32_t squares = 0;

    if (is_finite)
        squares = thread_squares<CGX_SQUARE_POWER>(place, cgx_sample_grid(range.min, range.max), 0,
                                                   values);
    take_sum(place, CGX_WIDTHS, squares, warps, sample);
#pragma unroll 1
    for (uint32_t bits = 1; bits <= CGX_WIDTHS; bits++) {
        squares = 0;
        if (is_finite && range.min != range.max)
            squares = thread_squares<CGX_SQUARE_NEAREST>(
                place, cgx_grid_over(range.min, range.max, bits), bits, values);
        take_sum(place, bits - 1, squares, warps, sample);
    }
    __syncthreads();
    if (place->thread != 0 || place->count == 0)
        return;
    sample->min = is_poisoned ? cgx_bits_float(CGX_NAN_FLOAT32) : range.min + 0.0f; /* no -0 */
    sample->max = is_poisoned ? cgx_bits_float(CGX_NAN_FLOAT32) : range.max + 0.0f;
    if (place->threads > 32)
        for (uint32_t number = 0; number < CGX_SAMPLE_SUMS; number++) {
            uint32_t sum = 0;

            for (uint32_t i = 0; i < place->threads / 32; i++)
                sum += warps[first + i][number];
            *sum_in(sample, number) = sum;
        }
}

#endif
