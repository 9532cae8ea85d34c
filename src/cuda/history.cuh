/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* History scaling (codec/history.h) of a max-min quantised bucket, by the threads that hold its
 * values. */
#ifndef CGX_CUDA_HISTORY_CUH
#define CGX_CUDA_HISTORY_CUH

#include "cuda/residuals.cuh"
#include "cuda/scales.cuh"

#define CGX_GROUP_WORDS (CGX_GROUP / CGX_SCALES)

/* The scales of a thread's groups. */
typedef uint32_t cgx_scales[CGX_GROUPS][CGX_GROUP_WORDS];

/* The address of the scales of the thread's group I. */
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

CGX_DEVICE void divide_group(const uint32_t *scales, float *values)
{
#pragma unroll
    for (int w = 0; w < CGX_GROUP_WORDS; w++)
        divide_by(scales[w], values + w * CGX_SCALES);
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
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP_WORDS; i++)
        multiply_by(scales[i / CGX_GROUP_WORDS][i % CGX_GROUP_WORDS],
                    values[i / CGX_GROUP_WORDS] + i % CGX_GROUP_WORDS * CGX_SCALES);
}

/* Turns VALUES, which are sums, into means (find_means); those of missing elements become zero. The
 * bucket must exist. Few buckets learn, so scales are loaded again, not kept in registers. */
CGX_DEVICE void find_bucket_means(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                                  const struct cgx_place *place, float weight, cgx_values values)
{
    cgx_scales scales;

    load_scales(args, tile, place, scales);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        float unit = 0;

        if (place->counts[i] > 0)
            unit = *unit_of(args, tile->first + place->at + i * place->stride);
#pragma unroll
        for (int w = 0; w < CGX_GROUP_WORDS; w++)
            find_means(scales[i][w], unit, weight, values[i] + w * CGX_SCALES);
    }
    clear_missing(place, values);
}

CGX_DEVICE void store_scales(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                             const struct cgx_place *place, float inverse, const cgx_values means)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        const uint32_t first = (uint32_t)tile->first + place->at + i * place->stride;

        if (place->counts[i] > 0)
            *scales_at(args, tile, place, i) = make_uint2(
                pack_scales(means[i], inverse, args.key, first),
                pack_scales(means[i] + CGX_SCALES, inverse, args.key, first + CGX_SCALES));
    }
}

/* The sum of the thread's means, in the order of thread_norm. */
CGX_DEVICE float thread_sum(const cgx_values values)
{
    float a[CGX_GROUP];

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        a[i % CGX_GROUP] =
            i < CGX_GROUP ? values[0][i] : a[i % CGX_GROUP] + values[i / CGX_GROUP][i % CGX_GROUP];
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

/* Adds ALIKE to the means of all elements that are not missing. */
CGX_DEVICE void add_alike(const struct cgx_place *place, float alike, cgx_values means)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        means[i / CGX_GROUP][i % CGX_GROUP] += alike;
    clear_missing(place, means);
}

/* Updates the history with the sums VALUES, which are overwritten, if the bucket learns from the
 * call. All threads of the block must call it, once. */
CGX_DEVICE void enter_history(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                              const struct cgx_place *place, cgx_values values)
{
    const uint32_t block = cgx_history_block(args.bucket_size);
    const uint64_t bucket = tile->first + place->bucket * args.bucket_size;
    const bool due = place->count > 0 && is_due(args, bucket);
    float before = 0, sum = 0, alike, unit;

    if (due) {
        before = *unit_of(args, bucket);
        find_bucket_means(args, tile, place, cgx_history_weight(before, args.age), values);
        sum = thread_sum(values);
    }
    sum = bucket_norms(place, {sum, 0}).values;
    __syncwarp(); /* all lanes have read the units; shuffles do not order memory accesses */
    if (!due || !cgx_history_is_known(sum))
        return;
    alike = cgx_history_alike(before, sum, (float)place->count);
    unit = cgx_history_unit(sum, (float)place->count, alike);
    if (alike > 0) {
        CGX_BRANCH;
        add_alike(place, alike, values);
    }
    if (place->thread * block < place->count)
        unit_of(args, bucket)[place->thread] = unit;
    store_scales(args, tile, place, unit > 0 ? 1.0f / unit : 0.0f, values);
}

/* Whether final sums VALUES may exceed the type once they are multiplied by their scales. STEPS is
 * the sum of the sources' steps. All threads of the block must call it, after bucket_range. */
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
