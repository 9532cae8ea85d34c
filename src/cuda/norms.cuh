/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of squares over a max-min quantised bucket, by the threads that hold its values. */
#ifndef CGX_CUDA_NORMS_CUH
#define CGX_CUDA_NORMS_CUH

#include "cuda/encode.cuh"

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

#endif
