/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* History scaling (codec/history.h) of a bucket, by the warp that holds its elements. The scales of
 * a quad share a word. */
#ifndef CGX_CUDA_ROW_HISTORY_CUH
#define CGX_CUDA_ROW_HISTORY_CUH

#include "codec/history.h"
#include "cuda/uniform_tile.cuh"

/* The first element of the lane's quad K, counted in the bucket. */
CGX_DEVICE uint32_t quad_at(const struct cgx_row_place *place, int k)
{
    return k * CGX_STRIDE + place->lane * CGX_QUAD;
}

CGX_DEVICE uint32_t *scales_at(const struct cgx_kernel_args &args,
                               const struct cgx_uniform_tile *tile,
                               const struct cgx_row_place *place, int k)
{
    return (uint32_t *)(args.scales + first_of(tile, place) + quad_at(place, k));
}

CGX_DEVICE void load_scales(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                            const struct cgx_row_place *place, uint32_t *scales)
{
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        scales[k] = 0;
        if (quad_at(place, k) < place->count)
            scales[k] = *scales_at(args, tile, place, k);
    }
}

/* The code of the scale of the lane's element I. */
CGX_DEVICE uint32_t scale_of(const uint32_t *scales, int i)
{
    return scales[i / CGX_QUAD] >> 8 * (i % CGX_QUAD) & 0xFFu;
}

CGX_DEVICE void divide_by_scales(const uint32_t *scales, float *values)
{
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] *= cgx_history_inverse(scale_of(scales, i));
}

CGX_DEVICE void multiply_by_scales(const uint32_t *scales, float *values)
{
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] *= cgx_history_scale(scale_of(scales, i));
}

/* Loads this lane's quads of the warp's group in the buffer, divided by their scales if there is
 * history. */
template <class Type, enum kept KEPT>
CGX_DEVICE void load_values(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                            const struct cgx_row_place *place, float *values)
{
    struct cgx_quads<Type> quads;
    uint32_t scales[CGX_QUADS];

    load_lane<Type>(row_elements<Type>(args, tile, place), place, &quads);
    if (KEPT == HISTORY)
        load_scales(args, tile, place, scales);
    widen_quads<Type>(&quads, values);
    if (KEPT == HISTORY)
        divide_by_scales(scales, values);
}

/* Sets missing elements to zero. */
CGX_DEVICE void clear_missing(const struct cgx_row_place *place, float *values)
{
    if (place->count == CGX_UNIFORM_GROUP)
        return;
    CGX_BRANCH;
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        if (quad_at(place, i / CGX_QUAD) + i % CGX_QUAD >= place->count)
            values[i] = 0;
}

/* The sum of the values' squares: first columns of elements a quarter of a bucket apart, which are
 * in every other quad of a lane. */
CGX_DEVICE float bucket_norm(const float *values)
{
    float halves[2];

#pragma unroll
    for (int h = 0; h < 2; h++) {
        float a[CGX_QUAD] = {};

#pragma unroll
        for (int i = 0; i < CGX_LANE / 2; i++) {
            const float value = values[(2 * (i / CGX_QUAD) + h) * CGX_QUAD + i % CGX_QUAD];

            a[i % CGX_QUAD] = cgx_fma(value, value, a[i % CGX_QUAD]);
        }
        halves[h] = (a[0] + a[1]) + (a[2] + a[3]);
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2)
            halves[h] += __shfl_xor_sync(CGX_WARP, halves[h], distance);
    }
    return halves[0] + halves[1];
}

/* The scales for SQUARES, a quad, as a word. FIRST is the number of its first element in the
 * buffer.
 */
CGX_DEVICE uint32_t pack_scales(const float *squares, uint32_t key, uint32_t first)
{
    uint32_t word = 0;

#pragma unroll
    for (int j = 0; j < CGX_QUAD; j++)
        word |= cgx_history_code(squares[j], cgx_history_random(key, first + j)) << 8 * j;
    return word;
}

/* Updates the history with the sums VALUES, which are overwritten, if the bucket learns from the
 * call. Scales are loaded again, rather than kept in registers. */
CGX_DEVICE void enter_history(const struct cgx_kernel_args &args,
                              const struct cgx_uniform_tile *tile,
                              const struct cgx_row_place *place, float *values)
{
    const uint64_t first = first_of(tile, place);
    float *const fit = args.fits + first / CGX_BUCKET_MOST;
    uint32_t scales[CGX_QUADS];
    struct cgx_history_lesson lesson;
    float quotients[CGX_LANE], squares;

    if (!cgx_history_is_due(args.key, (uint32_t)first, *fit, args.age))
        return;
    clear_missing(place, values);
    squares = bucket_norm(values);
    if (!cgx_history_is_known(squares))
        return;
    load_scales(args, tile, place, scales);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        quotients[i] = values[i];
    divide_by_scales(scales, quotients);
    lesson =
        cgx_history_lesson(*fit, args.age, squares, bucket_norm(quotients), (float)place->count);
    __syncwarp(); /* all lanes have read the fit; shuffles do not order memory accesses */
    if (place->lane == 0)
        *fit = lesson.fit;
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] = cgx_history_square(scale_of(scales, i), lesson, values[i]);
    clear_missing(place, values);
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++)
        if (quad_at(place, k) < place->count)
            *scales_at(args, tile, place, k) =
                pack_scales(values + k * CGX_QUAD, args.key, (uint32_t)first + quad_at(place, k));
}

#endif
