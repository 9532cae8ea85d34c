/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The energies of encoded pieces (codec/energy.h): a warp for each piece, with a lane for each lane
 * of the sum. */
#ifndef CGX_CUDA_ENERGIES_CUH
#define CGX_CUDA_ENERGIES_CUH

#include "codec/energy.h"
#include "cuda/rotated_tile.cuh"
#include "cuda/uniform.cuh"

/* The step of group INDEX of the uniform piece at DATA. */
CGX_DEVICE float group_scale(const unsigned char *data, const struct cgx_uniform_layout *layout,
                             uint64_t index)
{
    const uint64_t left = layout->blocks - index * CGX_UNIFORM_BLOCKS;

    return cgx_uniform_scale_of(*(const float *)data, data[layout->exponents + index],
                                ((const uint64_t *)(data + layout->kinds))[index],
                                left < CGX_UNIFORM_BLOCKS ? (uint32_t)left : CGX_UNIFORM_BLOCKS);
}

/* As lane_energy, for a uniform piece. */
CGX_DEVICE double lane_energy_of_groups(const struct cgx_kernel_args &args,
                                        const struct cgx_kernel_piece *piece, uint32_t lane)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of(piece->count);
    double sum = 0;

    for (uint64_t i = lane; i < layout.groups; i += CGX_ENERGY_LANES) {
        const uint64_t left = piece->count - i * CGX_UNIFORM_GROUP;

        sum += cgx_energy_of(group_scale(args.payload + piece->offset, &layout, i),
                             left < CGX_UNIFORM_GROUP ? (uint32_t)left : CGX_UNIFORM_GROUP);
    }
    return sum;
}

/* The sum over the buckets of PIECE that belong to LANE. */
CGX_DEVICE double lane_energy(const struct cgx_kernel_args &args,
                              const struct cgx_kernel_piece *piece, uint32_t lane)
{
    const uint32_t size = is_rotated(piece) ? CGX_ROTATED_BUCKET : args.bucket_size;
    const uint32_t *headers = (const uint32_t *)(args.payload + piece->offset);
    double sum = 0;

    if (piece->bits == CGX_BITS_EXACT)
        return 0;
    for (uint64_t i = lane; i * size < piece->count; i += CGX_ENERGY_LANES) {
        const uint64_t left = is_rotated(piece) ? size : piece->count - i * size;

        sum += cgx_energy_of(cgx_header_scale(headers[i]), left < size ? (uint32_t)left : size);
    }
    return sum;
}

/* SUM plus, in order, the energies of PIECE in the sources that are payloads. */
CGX_DEVICE double add_energies(const struct cgx_kernel_args &args,
                               const struct cgx_kernel_piece *piece, uint32_t lane, double sum)
{
    for (uint32_t s = 0; s < args.nsources; s += CGX_ENERGY_LANES) {
        const int64_t source = s + lane < args.nsources ? args.sources[s + lane] : 0;
        uint32_t half = 0;

        if (source > 0)
            half = *(const uint32_t *)(global_memory(source) + piece->energy);
        for (uint32_t i = 0; i < CGX_ENERGY_LANES && s + i < args.nsources; i++)
            sum += cgx_from_upper_half(__shfl_sync(CGX_WARP, half, (int)i));
    }
    return sum;
}

/* Writes the energy of this warp's piece to the payload and, for the host, to BUFFER unless it is
 * NULL. */
CGX_DEVICE void energies(const struct cgx_kernel_args &args)
{
    const uint32_t lane = threadIdx.x % CGX_ENERGY_LANES;
    const uint32_t index = blockIdx.x * CGX_KERNEL_ENERGIES + threadIdx.x / CGX_ENERGY_LANES;
    double sum;

    if (index >= args.npieces)
        return;

    const struct cgx_kernel_piece *piece = &args.pieces[index];

    sum = piece->bits > CGX_UNIFORM ? lane_energy_of_groups(args, piece, lane)
                                    : lane_energy(args, piece, lane);
    for (int distance = CGX_ENERGY_LANES / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(CGX_WARP, sum, distance);
    sum = add_energies(args, piece, lane, sum);
    __syncwarp(); /* the payload may be one of the sources */
    if (lane != 0 || piece->energy == 0)
        return;
    *(uint32_t *)(args.payload + piece->energy) = cgx_upper_half(sum);
    if (args.buffer)
        *(uint32_t *)((unsigned char *)args.buffer + piece->energy) = cgx_upper_half(sum);
}

#endif
