/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The second moments of sampled buckets (struct cgx_moment): a warp for each bucket. */
#ifndef CGX_CUDA_MOMENTS_CUH
#define CGX_CUDA_MOMENTS_CUH

#include "cuda/inspect.cuh"

/* Writes the second moments of the sampled buckets of the only source to PAYLOAD. */
CGX_DEVICE void moments(const struct cgx_kernel_args &args)
{
    const uint32_t number = blockIdx.x * CGX_KERNEL_MOMENTS + threadIdx.x / 32;
    const struct cgx_kernel_piece *piece =
        &args.pieces[find_entry(args.pieces, args.npieces, number)];
    const uint64_t index = cgx_sample_bucket(number - piece->tile, args.sampling);
    const struct cgx_inspected_bucket bucket = {(uint32_t)(piece - args.pieces), (uint32_t)index, 0,
                                                0, 0};
    const struct cgx_inspected_place place = place_of(args, &bucket);
    struct cgx_inspected_view view = {};
    double squares = 0;
    uint32_t count;

    /* In the last block there are fewer buckets than warps. */
    if (piece->bits == CGX_BITS_EXACT || index * place.size >= piece->count)
        return;
    view_bucket(args, &place, global_memory(args.sources[0]), &view);
    count = view.step == view.step ? place.count : 0;
    for (uint32_t i = threadIdx.x % 32; i < count; i += CGX_ENERGY_LANES) {
        const double value = (double)value_in(&view, i);

        squares += value * value;
    }
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0)
        ((struct cgx_moment *)args.payload)[number] = {squares, view.step, 0};
}

#endif
