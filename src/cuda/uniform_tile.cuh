/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The division of work for uniform pieces. A warp has a group, and a lane eight quads of it. To
 * quantise and to decode a lane has a row: 32 consecutive elements, half a block, so that masks
 * need no votes. */
#ifndef CGX_CUDA_UNIFORM_TILE_CUH
#define CGX_CUDA_UNIFORM_TILE_CUH

#include "codec/uniform/uniform.h"
#include "cuda/row_history.cuh"

struct cgx_uniform_tile {
    struct cgx_rows rows; /* its groups as buckets */
    struct cgx_uniform_layout layout;
    uint64_t piece; /* offset of the piece */
    uint64_t words; /* the most words that the piece may have */
    uint32_t index; /* number of the tile in the piece */
};

/* The block's tile. If find_uniform_tile had it, decoding with history would spill more. */
CGX_DEVICE struct cgx_uniform_tile *tile_room()
{
    __shared__ struct cgx_uniform_tile tile;

    return &tile;
}

/* Finds tile NUMBER, as find_tile does. */
CGX_DEVICE const struct cgx_uniform_tile *find_uniform_tile(const struct cgx_kernel_args &args,
                                                            uint32_t number)
{
    struct cgx_uniform_tile *found = tile_room();

    if (threadIdx.x < 32) {
        const struct cgx_kernel_piece *piece =
            &args.pieces[find_entry(args.pieces, args.npieces, number)];

        if (threadIdx.x == 0) {
            found->index = number - piece->tile;
            found->piece = piece->offset;
            found->words = cgx_uniform_most_words(piece->count);
            found->layout = cgx_uniform_layout_of(piece->count);
            found->rows.first = piece->first + (uint64_t)found->index * CGX_KERNEL_TILE;
            found->rows.count = count_within(found->index * CGX_KERNEL_TILE, (uint32_t)piece->count,
                                             CGX_KERNEL_TILE);
        }
    }
    __syncthreads();
    return found;
}

/* The number of this warp's group in the piece. */
CGX_DEVICE uint32_t group_of(const struct cgx_uniform_tile *tile, const struct cgx_row_place *place)
{
    return tile->index * CGX_KERNEL_GROUPS + place->bucket;
}

/* The number of this lane's block in the buffer. */
CGX_DEVICE uint32_t block_of(const struct cgx_uniform_tile *tile, const struct cgx_row_place *place)
{
    return (uint32_t)(bucket_at(&tile->rows, place) / CGX_UNIFORM_BLOCK) + place->lane / 2;
}

CGX_DEVICE uint32_t blocks_of(const struct cgx_row_place *place)
{
    return (place->count + CGX_UNIFORM_BLOCK - 1) / CGX_UNIFORM_BLOCK;
}

/* Where warp_room has elements 4 QUAD to 4 QUAD + 3 of ROW: quads of eight lanes are in different
 * banks, whether in one row or in one column. */
CGX_DEVICE uint32_t row_at(uint32_t row, uint32_t quad)
{
    return row * CGX_LANE + (quad ^ (row & 7)) * CGX_QUAD;
}

/* Replaces a lane's quads by its row or, unless TO_ROWS, its row by its quads. */
template <bool TO_ROWS> CGX_DEVICE void transpose(float *values)
{
    uint32_t *room = warp_room(), lane = threadIdx.x % 32, quad[CGX_QUAD];

    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
#pragma unroll
        for (int j = 0; j < CGX_QUAD; j++)
            quad[j] = cgx_float_bits(values[k * CGX_QUAD + j]);
        store_16((unsigned char *)(room + (TO_ROWS ? row_at(4 * k + lane / 8, lane % 8)
                                                   : row_at(lane, k))),
                 quad);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        load_16((const unsigned char *)(room + (TO_ROWS ? row_at(lane, k)
                                                        : row_at(4 * k + lane / 8, lane % 8))),
                quad);
#pragma unroll
        for (int j = 0; j < CGX_QUAD; j++)
            values[k * CGX_QUAD + j] = cgx_bits_float(quad[j]);
    }
}

/* Loads this lane's quads of the warp's group in the buffer, divided by their scales if there is
 * history. */
template <class Type, enum kept KEPT>
CGX_DEVICE void load_values(const struct cgx_kernel_args &args, const struct cgx_rows *rows,
                            const struct cgx_row_place *place, float *values)
{
    struct cgx_quads<Type> quads;
    uint32_t scales[CGX_QUADS];

    load_lane<Type>(row_elements<Type>(args, rows, place), place, &quads);
    if (KEPT == HISTORY)
        load_scales(args, rows, place, scales);
    widen_quads<Type>(&quads, values);
    if (KEPT == HISTORY)
        divide_by_scales(scales, values);
}

/* The dithers of this lane's row. Element 16 j + i has byte 2 (lane % 2) + j of hash i, plus the
 * lowest byte of the key, as its dither: KEYS are added to the hash, and BYTES select the byte of
 * the sum for number_of. */
struct cgx_dithers {
    uint32_t key, block;
    uint32_t keys[2], bytes[2];
};

/* BLOCK: the number of the row's block in the buffer. */
CGX_DEVICE struct cgx_dithers dithers_of(uint32_t key, uint32_t block)
{
    struct cgx_dithers dithers = {key, block, {}, {}};

    for (uint32_t j = 0; j < 2; j++) {
        const uint32_t byte = threadIdx.x % 2 * 2 + j;

        dithers.keys[j] = (key & 255) << 8 * byte;
        dithers.bytes[j] = 0x7404u | byte << 4;
    }
    return dithers;
}

/* The float32 of four bytes, selected from VALUE (0 to 3) and the uppermost byte of a float32,
 * UPPER (7), or zeros (4). */
CGX_DEVICE float number_of(uint32_t value, uint32_t upper, uint32_t bytes)
{
    return cgx_bits_float(__byte_perm(value, upper << 24, bytes));
}

/* The dither of element ELEMENT of the row; HASH is the hash for its number modulo 16. This is
 * cgx_uniform_dither, computed from a float32 of 128 and more, in which the second byte counts
 * 256ths. */
CGX_DEVICE float dither_of(const struct cgx_dithers *dithers, uint32_t hash, int element)
{
    return number_of(hash + dithers->keys[element / 16], 0x43, dithers->bytes[element / 16]) -
           (0x1p7f + 255 * 0x1p-9f);
}

CGX_DEVICE uint32_t hash_of(const struct cgx_dithers *dithers, int element)
{
    return cgx_uniform_hash(dithers->key, dithers->block, element % 16);
}

#endif
