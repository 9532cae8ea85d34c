/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranges of a payload, copied to where the host finds them. */
#ifndef CGX_CUDA_RANGES_CUH
#define CGX_CUDA_RANGES_CUH

#include "cuda/tile.cuh"

CGX_DEVICE void ranges(const struct cgx_kernel_args &args)
{
    __shared__ uint32_t found;

    if (threadIdx.x < 32) {
        uint32_t range = find_entry(args.ranges, args.nranges, blockIdx.x);

        if (threadIdx.x == 0)
            found = range;
    }
    __syncthreads();

    const struct cgx_kernel_range *range = &args.ranges[found];
    const uint32_t first = (blockIdx.x - range->tile) * CGX_KERNEL_RANGE_TILE;
    const uint32_t count = limit(first, range->words, CGX_KERNEL_RANGE_TILE);
    const uint64_t offset = range->offset + (uint64_t)first * sizeof(uint32_t);
    const uint32_t *from = (const uint32_t *)(args.payload + offset);
    uint32_t *to = (uint32_t *)((unsigned char *)args.buffer + offset);

    for (uint32_t i = threadIdx.x; i < count; i += CGX_KERNEL_THREADS)
        to[i] = from[i];
}

#endif
