/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The division of work for uniform pieces. A block has a tile, four groups of one piece, and a warp
 * one of them. A lane has 32 elements, eight quads of four; neighbouring lanes have neighbouring
 * quads, and a lane's quads are an eighth of a group apart. To quantise and to decode a lane has a
 * row: 32 consecutive elements, half a block, so that masks need no votes. */
#ifndef CGX_CUDA_UNIFORM_TILE_CUH
#define CGX_CUDA_UNIFORM_TILE_CUH

#include "codec/uniform/uniform.h"
#include "cuda/tile.cuh"

#define CGX_WARP 0xFFFFFFFFu /* mask of all lanes */
#define CGX_LANE 32          /* elements of a lane */
#define CGX_QUADS 8
#define CGX_QUAD 4

struct cgx_uniform_tile {
    uint64_t first; /* number of the first element in the buffer */
    uint32_t count; /* elements */
    uint32_t index; /* number of the tile in the piece */
    uint64_t piece; /* offset of the piece */
    uint64_t words; /* the most words that the piece may have */
    struct cgx_uniform_layout layout;
};

/* The group of a warp, and this lane. */
struct cgx_row_place {
    uint32_t group; /* number of the group in the tile */
    uint32_t lane;
    uint32_t count; /* elements of the group; 0: there is no such group */
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
        const struct cgx_kernel_piece *piece = find_piece(args, number);

        if (threadIdx.x == 0) {
            found->index = number - piece->tile;
            found->piece = piece->offset;
            found->words = cgx_uniform_most_words(piece->count);
            found->layout = cgx_uniform_layout_of(piece->count);
            found->first = piece->first + (uint64_t)found->index * CGX_KERNEL_TILE;
            found->count = count_within(found->index * CGX_KERNEL_TILE, (uint32_t)piece->count,
                                        CGX_KERNEL_TILE);
        }
    }
    __syncthreads();
    return found;
}

CGX_DEVICE struct cgx_row_place find_row_place(const struct cgx_uniform_tile *tile)
{
    struct cgx_row_place place;

    /* Without the shuffle the compiler assumes that lanes may diverge on the group, and duplicates
     * all code that follows. */
    place.group = __shfl_sync(CGX_WARP, threadIdx.x / 32, 0);
    place.lane = threadIdx.x % 32;
    place.count = count_within(place.group * CGX_UNIFORM_GROUP, tile->count, CGX_UNIFORM_GROUP);
    return place;
}

/* The number of this warp's group in the piece. */
CGX_DEVICE uint32_t group_of(const struct cgx_uniform_tile *tile, const struct cgx_row_place *place)
{
    return tile->index * CGX_KERNEL_GROUPS + place->group;
}

/* The number of the group's first element in the buffer. */
CGX_DEVICE uint64_t first_of(const struct cgx_uniform_tile *tile, const struct cgx_row_place *place)
{
    return tile->first + place->group * CGX_UNIFORM_GROUP;
}

/* The number of this lane's block in the buffer. */
CGX_DEVICE uint32_t block_of(const struct cgx_uniform_tile *tile, const struct cgx_row_place *place)
{
    return (uint32_t)(first_of(tile, place) / CGX_UNIFORM_BLOCK) + place->lane / 2;
}

CGX_DEVICE uint32_t blocks_of(const struct cgx_row_place *place)
{
    return (place->count + CGX_UNIFORM_BLOCK - 1) / CGX_UNIFORM_BLOCK;
}

/* ---- the group of a warp in shared memory ---- */

/* Eighths of a group. The gap behind each keeps columns of four words in different banks. */
#define CGX_STRIDE 128
#define CGX_PITCH (CGX_STRIDE + 4)

CGX_DEVICE uint32_t *warp_room(void)
{
    __shared__ __attribute__((aligned(16)))
    uint32_t rooms[CGX_KERNEL_THREADS / 32][CGX_QUADS * CGX_PITCH];

    return rooms[threadIdx.x / 32];
}

CGX_DEVICE uint32_t room_at(uint32_t element)
{
    return element / CGX_STRIDE * CGX_PITCH + element % CGX_STRIDE;
}

/* ---- the elements of a lane ---- */

template <class Type>
CGX_DEVICE unsigned char *row_elements(const struct cgx_kernel_args &args,
                                       const struct cgx_uniform_tile *tile,
                                       const struct cgx_row_place *place)
{
    return (unsigned char *)args.buffer + first_of(tile, place) * sizeof(typename Type::element);
}

/* The elements of a lane, in quads. */
template <class Type> struct cgx_quads {
    static const int WORDS = CGX_QUAD / Type::LANES;
    static const uint32_t BYTES = CGX_QUAD * sizeof(typename Type::element);
    uint32_t words[CGX_QUADS][WORDS];
};

/* Loads the lane's quads of a group at ELEMENTS that may be misaligned and has only COUNT elements;
 * the others become zero. The warp loads elements one by one, through shared memory. */
template <class Type>
CGX_DEVICE void collect_quads(const unsigned char *elements, uint32_t count,
                              struct cgx_quads<Type> *quads)
{
    const uint32_t size = sizeof(typename Type::element), lane = threadIdx.x % 32;
    const bool aligned = is_aligned<Type>(elements);
    uint32_t *room = warp_room(), quad[CGX_QUAD];

    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < CGX_UNIFORM_GROUP; i += 32)
        room[room_at(i)] = i < count ? load_element<Type>(elements + i * size, aligned) : 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        load_16((const unsigned char *)(room + k * CGX_PITCH + lane * CGX_QUAD), quad);
#pragma unroll
        for (int i = 0; i < cgx_quads<Type>::WORDS; i++)
            quads->words[k][i] = Type::LANES == 1
                                     ? quad[i]
                                     : quad[2 * i % CGX_QUAD] | quad[(2 * i + 1) % CGX_QUAD] << 16;
    }
}

template <class Type>
CGX_DEVICE void scatter_quads(unsigned char *elements, uint32_t count,
                              const struct cgx_quads<Type> *quads)
{
    const uint32_t size = sizeof(typename Type::element), lane = threadIdx.x % 32;
    const bool aligned = is_aligned<Type>(elements);
    uint32_t *room = warp_room(), quad[CGX_QUAD];

    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
#pragma unroll
        for (int j = 0; j < CGX_QUAD; j++)
            quad[j] = quads->words[k][j / Type::LANES] >> j % Type::LANES * 16;
        store_16((unsigned char *)(room + k * CGX_PITCH + lane * CGX_QUAD), quad);
    }
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < count; i += 32)
        store_element<Type>(elements + i * size, aligned, room[room_at(i)]);
}

/* Whether a group of COUNT elements at ELEMENTS can be loaded and stored by quads. */
template <class Type> CGX_DEVICE bool has_quads(const unsigned char *elements, uint32_t count)
{
    return count == CGX_UNIFORM_GROUP && ((int64_t)elements & (cgx_quads<Type>::BYTES - 1)) == 0;
}

/* Loads this lane's elements of the group at ELEMENTS. */
template <class Type>
CGX_DEVICE void load_lane(const unsigned char *elements, const struct cgx_row_place *place,
                          struct cgx_quads<Type> *quads)
{
    if (!has_quads<Type>(elements, place->count)) {
        collect_quads<Type>(elements, place->count, quads);
        return;
    }
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        const unsigned char *at = elements + (k * 32 + place->lane) * cgx_quads<Type>::BYTES;

        if (Type::LANES == 1) {
            load_16(at, quads->words[k]);
        } else {
            uint2 v = *(const uint2 *)at;

            quads->words[k][0] = v.x;
            quads->words[k][1] = v.y;
        }
    }
}

template <class Type>
CGX_DEVICE void store_lane(unsigned char *elements, const struct cgx_row_place *place,
                           const struct cgx_quads<Type> *quads)
{
    if (!has_quads<Type>(elements, place->count)) {
        scatter_quads<Type>(elements, place->count, quads);
        return;
    }
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        unsigned char *at = elements + (k * 32 + place->lane) * cgx_quads<Type>::BYTES;

        if (Type::LANES == 1)
            store_16(at, quads->words[k]);
        else
            *(uint2 *)at = make_uint2(quads->words[k][0], quads->words[k][1]);
    }
}

template <class Type>
CGX_DEVICE void widen_quads(const struct cgx_quads<Type> *quads, float *values)
{
#pragma unroll
    for (int i = 0; i < CGX_LANE / Type::LANES; i++)
        Type::widen(quads->words[i / cgx_quads<Type>::WORDS][i % cgx_quads<Type>::WORDS],
                    values + i * Type::LANES);
}

/* ---- rows ---- */

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
