/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* History scaling (codec/history.h) of a max-min quantised bucket, by the threads that hold its
 * values. */
#ifndef CGX_CUDA_HISTORY_CUH
#define CGX_CUDA_HISTORY_CUH

#include "cuda/encode.cuh"
#include "cuda/scales.cuh"

/* ---- norms ---- */

/* Sums of squares: of values, and of values divided by their scales. */
struct cgx_norms {
    float values;
    float quotients;
};

/* The sum of squares of the thread's values; missing ones must be zero. */
CGX_DEVICE float thread_norm(const cgx_values values)
{
    float a[CGX_GROUP] = {};

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++) {
        const float value = values[i / CGX_GROUP][i % CGX_GROUP];

        a[i % CGX_GROUP] = cgx_fma(value, value, a[i % CGX_GROUP]);
    }
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

/* Adds up NORMS over all threads of the bucket. All threads of the block must call it, once. */
CGX_DEVICE struct cgx_norms bucket_norms(const struct cgx_place *place, struct cgx_norms norms)
{
    __shared__ struct cgx_norms warps[CGX_KERNEL_THREADS / 32];
    uint32_t lanes = place->threads < 32 ? place->threads : 32;
    uint32_t first = (threadIdx.x - place->thread) / 32; /* first warp of the bucket */

    for (uint32_t distance = 1; distance < lanes; distance *= 2) {
        norms.values += __shfl_xor_sync(0xFFFFFFFFu, norms.values, (int)distance);
        norms.quotients += __shfl_xor_sync(0xFFFFFFFFu, norms.quotients, (int)distance);
    }
    if (place->threads <= 32)
        return norms;
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = norms;
    __syncthreads();
    norms = warps[first];
#pragma unroll 1
    for (uint32_t i = 1; i < place->threads / 32; i++) {
        norms.values += warps[first + i].values;
        norms.quotients += warps[first + i].quotients;
    }
    return norms;
}

/* Sets missing elements to zero: codes of padding have levels, which must not enter sums over the
 * bucket. */
CGX_DEVICE void clear_missing(const struct cgx_place *place, cgx_values values)
{
    if (place->is_whole)
        return;
    CGX_BRANCH;
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        if ((uint32_t)(i % CGX_GROUP) >= place->counts[i / CGX_GROUP])
            values[i / CGX_GROUP][i % CGX_GROUP] = 0;
}

/* ---- scales ---- */

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

/* The squares of the thread's VALUES, which are sums, and of their quotients. The bucket must
 * exist. Since few buckets learn, scales are loaded again rather than held in registers. */
CGX_DEVICE struct cgx_norms find_norms(const struct cgx_kernel_args &args,
                                       const struct cgx_tile *tile, const struct cgx_place *place,
                                       const cgx_values values)
{
    struct cgx_norms norms = {thread_norm(values), 0};
    cgx_values quotients;

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        quotients[i / CGX_GROUP][i % CGX_GROUP] = values[i / CGX_GROUP][i % CGX_GROUP];
    divide_by_scales(args, tile, place, quotients);
    norms.quotients = thread_norm(quotients);
    return norms;
}

/* Replaces the scales by those after LESSON, with the sums VALUES, which are overwritten. */
CGX_DEVICE void learn_scales(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                             const struct cgx_place *place, struct cgx_history_lesson lesson,
                             cgx_values values)
{
    cgx_scales scales;

    load_scales(args, tile, place, scales);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP_WORDS; i++)
        find_squares(scales[i / CGX_GROUP_WORDS][i % CGX_GROUP_WORDS], lesson,
                     values[i / CGX_GROUP_WORDS] + i % CGX_GROUP_WORDS * CGX_SCALES);
    clear_missing(place, values);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        const uint32_t first = (uint32_t)tile->first + place->at + i * place->stride;

        if (place->counts[i] > 0)
            *scales_at(args, tile, place, i) =
                make_uint2(pack_scales(values[i], args.key, first),
                           pack_scales(values[i] + CGX_SCALES, args.key, first + CGX_SCALES));
    }
}

/* Updates the history with the sums VALUES, which are overwritten, if the bucket learns from the
 * call. All threads of the block must call it, once. */
CGX_DEVICE void enter_history(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                              const struct cgx_place *place, cgx_values values)
{
    const uint32_t block = cgx_history_block(args.bucket_size);
    const uint64_t bucket = tile->first + place->bucket * args.bucket_size;
    const bool due = place->count > 0 && is_due(args, bucket);
    struct cgx_history_lesson lesson;
    struct cgx_norms norms = {};
    float fit = 0;

    if (due) {
        fit = *fit_of(args, bucket);
        clear_missing(place, values);
        norms = find_norms(args, tile, place, values);
    }
    norms = bucket_norms(place, norms);
    __syncwarp(); /* all lanes have read the fit; shuffles do not order memory accesses */
    if (!due || !cgx_history_is_known(norms.values))
        return;
    lesson = cgx_history_lesson(fit, args.age, norms.values, norms.quotients, (float)place->count);
    if (place->thread * block < place->count)
        fit_of(args, bucket)[place->thread] = lesson.fit;
    learn_scales(args, tile, place, lesson, values);
}

#endif
