/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* History scaling (codec/history.h) of four elements, whose scales share a word. */
#ifndef CGX_CUDA_SCALES_CUH
#define CGX_CUDA_SCALES_CUH

#include "codec/history.h"
#include "cuda/tile.cuh"

#define CGX_SCALES 4

/* The code of the scale of element J. */
CGX_DEVICE uint32_t scale_of(uint32_t word, int j)
{
    return word >> 8 * j & 0xFFu;
}

CGX_DEVICE void divide_by(uint32_t word, float *values)
{
#pragma unroll
    for (int j = 0; j < CGX_SCALES; j++)
        values[j] *= cgx_history_inverse(scale_of(word, j));
}

CGX_DEVICE void multiply_by(uint32_t word, float *values)
{
#pragma unroll
    for (int j = 0; j < CGX_SCALES; j++)
        values[j] *= cgx_history_scale(scale_of(word, j));
}

/* Turns VALUES, which are sums, into the squares 64 r^2 (codec/history.h). */
CGX_DEVICE void find_squares(uint32_t word, struct cgx_history_lesson lesson, float *values)
{
#pragma unroll
    for (int j = 0; j < CGX_SCALES; j++)
        values[j] = cgx_history_square(scale_of(word, j), lesson, values[j]);
}

/* The scales for SQUARES as a word. FIRST is the number of their first element in the buffer. */
CGX_DEVICE uint32_t pack_scales(const float *squares, uint32_t key, uint32_t first)
{
    uint32_t word = 0;

#pragma unroll
    for (int j = 0; j < CGX_SCALES; j++)
        word |= cgx_history_code(squares[j], cgx_history_random(key, first + j)) << 8 * j;
    return word;
}

/* The address of the fit of the bucket that holds element INDEX of the buffer. */
CGX_DEVICE float *fit_of(const struct cgx_kernel_args &args, uint64_t index)
{
    return args.fits + index / CGX_BUCKET_MOST;
}

/* Whether the bucket that begins at element FIRST of the buffer learns from the call. There must be
 * such a bucket. */
CGX_DEVICE bool is_due(const struct cgx_kernel_args &args, uint64_t first)
{
    return cgx_history_is_due(args.key, (uint32_t)first, *fit_of(args, first), args.age);
}

#endif
