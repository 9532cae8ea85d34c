/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* History scaling of a bucket that is max-min quantised (codec/history.h), by the threads
 * that have its values. A group's scales are two words. */
#ifndef CGX_CUDA_HISTORY_CUH
#define CGX_CUDA_HISTORY_CUH

#include "codec/history.h"
#include "cuda/residuals.cuh"

typedef uint32_t cgx_scales[CGX_GROUPS][2];

/* Those of the thread's group I. */
CGX_DEVICE uint2 *scales_at(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                            const struct cgx_place *place, int i)
{
    return (uint2 *)(args.scales + tile->first + place->at + i * place->stride);
}

CGX_DEVICE void load_scales(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                            const struct cgx_place *place, cgx_scales scales)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        uint2 words = make_uint2(0, 0);

        if (place->counts[i] > 0)
            words = *scales_at(args, tile, place, i);
        scales[i][0] = words.x;
        scales[i][1] = words.y;
    }
}

/* Of element J of a group. */
CGX_DEVICE uint32_t scale_of(const uint32_t scales[2], int j)
{
    return scales[j / 4] >> (8 * (j % 4)) & 0xFFu;
}

CGX_DEVICE void divide_group(const uint32_t scales[2], float *values)
{
#pragma unroll
    for (int j = 0; j < CGX_GROUP; j++)
        values[j] *= cgx_history_inverse(scale_of(scales, j));
}

CGX_DEVICE void divide_by_scales(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                                 const struct cgx_place *place, cgx_values values)
{
    cgx_scales scales;

    load_scales(args, tile, place, scales);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        divide_group(scales[i], values[i]);
}

CGX_DEVICE void multiply_by_scales(const cgx_scales scales, cgx_values values)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        values[i / CGX_GROUP][i % CGX_GROUP] *=
            cgx_history_scale(scale_of(scales[i / CGX_GROUP], i % CGX_GROUP));
}

/* Stores the thread's MEANS; 0 for elements that are not there. */
CGX_DEVICE void store_scales(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                             const struct cgx_place *place, float inverse, const cgx_values means)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        const uint32_t first = (uint32_t)tile->first + place->at + i * place->stride;
        uint32_t words[2] = {0, 0};

#pragma unroll
        for (int j = 0; j < CGX_GROUP; j++) {
            uint32_t code =
                cgx_history_code(means[i][j], inverse, cgx_history_random(args.key, first + j));

            words[j / 4] |= ((uint32_t)j < place->counts[i] ? code : 0) << (8 * (j % 4));
        }
        if (place->counts[i] > 0)
            *scales_at(args, tile, place, i) = make_uint2(words[0], words[1]);
    }
}

/* Of the thread's means, as thread_norm adds up squares. */
CGX_DEVICE float thread_sum(const cgx_values values)
{
    float a[CGX_GROUP];

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        a[i % CGX_GROUP] =
            i < CGX_GROUP ? values[0][i] : a[i % CGX_GROUP] + values[i / CGX_GROUP][i % CGX_GROUP];
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

/* Enters the sums VALUES, which become anything. All threads of the block call it, once. */
CGX_DEVICE void enter_history(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                              const struct cgx_place *place, const cgx_scales scales,
                              cgx_values values)
{
    float *const unit = args.units + (tile->first / args.bucket_size + place->bucket);
    const float before = place->count > 0 ? *unit : 0;
    float sum, after;

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++) {
        float *value = &values[i / CGX_GROUP][i % CGX_GROUP];

        *value = cgx_history_mean(scale_of(scales[i / CGX_GROUP], i % CGX_GROUP), before, *value);
    }
    clear_missing(place, values);
    sum = bucket_norms(place, {thread_sum(values), 0}).values;
    __syncwarp(); /* all have read the unit; shuffles do not order that */
    if (place->count == 0 || !cgx_history_is_known(sum))
        return;
    after = cgx_history_unit(sum, (float)place->count);
    if (place->thread == 0)
        *unit = after;
    store_scales(args, tile, place, after > 0 ? 1.0f / after : 0.0f, values);
}

/* Whether a last sum, VALUES, the steps of whose sources add up to STEPS, may be beyond the type
 * when it is multiplied. All threads of the block call it, after bucket_range. */
template <class Type>
CGX_DEVICE bool history_overflows(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                                  const struct cgx_place *place, const cgx_values values,
                                  float steps)
{
    cgx_values products;
    cgx_scales scales;
    struct cgx_range range;

    load_scales(args, tile, place, scales);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        products[i / CGX_GROUP][i % CGX_GROUP] =
            fabsf(values[i / CGX_GROUP][i % CGX_GROUP]) + steps * 0x1.02p-1f;
    multiply_by_scales(scales, products);
    __syncthreads();
    range = bucket_range(place, products);
    return !(range.max < 0x1p125f) ||
           cgx_may_overflow(range.min, range.max, 0, false, Type::IS_FLOAT16);
}

#endif
