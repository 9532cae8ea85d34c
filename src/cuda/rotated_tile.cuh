/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where a tile of a rotated piece has its headers and codes. */
#ifndef CGX_CUDA_ROTATED_TILE_CUH
#define CGX_CUDA_ROTATED_TILE_CUH

#include "codec/rotated/rotated.h"
#include "cuda/rows.cuh"

CGX_DEVICE bool is_rotated(const struct cgx_kernel_piece *piece)
{
    return piece->bits - CGX_ROTATED - 1 < CGX_ROTATED_WIDTHS;
}

/* As struct cgx_tile, for a rotated piece. */
struct cgx_rotated_tile {
    uint64_t headers;
    uint64_t codes;
    struct cgx_rows rows;
    uint32_t width;
    uint32_t header_padding;
};

CGX_DEVICE void lay_out_rotated(const struct cgx_kernel_piece *piece, uint32_t index,
                                struct cgx_rotated_tile *tile)
{
    uint64_t start = (uint64_t)index * CGX_KERNEL_TILE;
    uint64_t left = piece->count - start;
    uint64_t buckets = (piece->count + CGX_ROTATED_BUCKET - 1) / CGX_ROTATED_BUCKET;
    bool is_last = left <= CGX_KERNEL_TILE;

    tile->width = piece->bits - CGX_ROTATED;
    tile->rows.first = piece->first + start;
    tile->rows.count = is_last ? (uint32_t)left : CGX_KERNEL_TILE;
    tile->header_padding = is_last ? (uint32_t)(0 - buckets) % 4 : 0;
    tile->headers = piece->offset + start / CGX_ROTATED_BUCKET * CGX_BUCKET_HEADER_BYTES;
    tile->codes = piece->offset + round_up(buckets * CGX_BUCKET_HEADER_BYTES, CGX_PIECE_ALIGNMENT) +
                  start / 8 * tile->width;
}

/* As find_tile. */
CGX_DEVICE const struct cgx_rotated_tile *find_rotated_tile(const struct cgx_kernel_args &args,
                                                            uint32_t number)
{
    __shared__ struct cgx_rotated_tile found;

    if (threadIdx.x < 32) {
        uint32_t piece = find_entry(args.pieces, args.npieces, number);

        if (threadIdx.x == 0)
            lay_out_rotated(&args.pieces[piece], number - args.pieces[piece].tile, &found);
    }
    __syncthreads();
    return &found;
}

/* Writes zeros after the headers, up to a multiple of 16 bytes. */
CGX_DEVICE void pad_headers(const struct cgx_rotated_tile *tile, unsigned char *payload)
{
    uint32_t buckets = (tile->rows.count + CGX_ROTATED_BUCKET - 1) / CGX_ROTATED_BUCKET;

    if (threadIdx.x < tile->header_padding)
        *(uint32_t *)(payload + tile->headers + (buckets + threadIdx.x) * CGX_BUCKET_HEADER_BYTES) =
            0;
}

#endif
