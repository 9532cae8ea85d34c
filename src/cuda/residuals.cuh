/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Residuals (doc/format.md) of a max-min quantised bucket, by the threads that hold its values. */
#ifndef CGX_CUDA_RESIDUALS_CUH
#define CGX_CUDA_RESIDUALS_CUH

#include "cuda/encode.cuh"

/* Sums of squares. */
struct cgx_norms {
    float values;
    float residuals;
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
        norms.residuals += __shfl_xor_sync(0xFFFFFFFFu, norms.residuals, (int)distance);
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
        norms.residuals += warps[first + i].residuals;
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

CGX_DEVICE unsigned char *residuals_of(const struct cgx_kernel_args &args,
                                       const struct cgx_tile *tile, const struct cgx_place *place)
{
    return (unsigned char *)args.residuals + (tile->first + place->at) * sizeof(uint16_t);
}

/* Adds the residuals, capped, to VALUES. Returns whether VALUES had a positive norm. All threads of
 * the block must call it, once. */
CGX_DEVICE bool add_residuals(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                              const struct cgx_place *place, cgx_values values)
{
    typedef struct cgx_type_bfloat16 Type;
    uint32_t words[CGX_GROUPS][Type::WORDS];
    struct cgx_norms norms;
    cgx_values added;
    float cap = 1.0f;

    load_elements<Type>(place, residuals_of(args, tile, place),
                        alignment_of<Type>((int64_t)args.residuals), words);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        widen_group<Type>(words[i], added[i]);
    clear_missing(place, values);
    norms.values = thread_norm(values);
    norms.residuals = thread_norm(added);
    norms = bucket_norms(place, norms);
    if (!cgx_residuals_fit(norms.values, norms.residuals)) {
        CGX_BRANCH;
        cap = cgx_residual_cap(norms.values, norms.residuals);
    }
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        values[i / CGX_GROUP][i % CGX_GROUP] =
            cgx_fma(added[i / CGX_GROUP][i % CGX_GROUP], cap, values[i / CGX_GROUP][i % CGX_GROUP]);
    return norms.values > 0.0f;
}

/* Stores ERRORS, from encode_bucket, as residuals, unless the bucket is poisoned. */
CGX_DEVICE void leave_residuals(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                                const struct cgx_place *place, uint32_t header,
                                const cgx_values errors)
{
    typedef struct cgx_type_bfloat16 Type;
    uint32_t words[CGX_GROUPS][Type::WORDS];

    if (header == CGX_BUCKET_POISON || place->count == 0)
        return;
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        narrow_group<Type>(errors[i], words[i]);
    store_elements<Type>(place, residuals_of(args, tile, place),
                         alignment_of<Type>((int64_t)args.residuals), words);
}

#endif
