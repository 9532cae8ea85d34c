/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The blocks of a piece that is quantised: what a packed payload has or has not (packing.h). In bit
 * planes a block is 64 elements, and where codes lie bucket by bucket a bucket. PIECE, below, is
 * where the piece lies, with its bucket headers first; MAP is a map of its blocks, of whole words
 * of 64 bits: bit i is set if block i is sent. */
#ifndef CGX_CODEC_BLOCKS_H
#define CGX_CODEC_BLOCKS_H

#include "codec/encoding.h"

struct cgx_blocks {
    unsigned encoding;
    size_t buckets, count;
    size_t each;               /* of a complete bucket: a power of two, 64 at the most */
    size_t offset[CGX_PLANES]; /* of planes; from the piece's start */
    size_t bytes[CGX_PLANES];  /* of a block's codes in each plane; a multiple of 8 */
    size_t end;                /* of the piece */
    size_t map;                /* bytes */
};

struct cgx_blocks cgx_blocks_of(const struct cgx_piece *piece, unsigned bucket_size);

/* How many bucket INDEX has. */
static inline size_t cgx_blocks_in(const struct cgx_blocks *blocks, size_t index)
{
    size_t rest = blocks->count - index * blocks->each;

    return rest < blocks->each ? rest : blocks->each;
}

/* Bytes of all codes of a block. */
static inline size_t cgx_blocks_bytes(const struct cgx_blocks *blocks)
{
    return blocks->bytes[0] + blocks->bytes[1] + blocks->bytes[2];
}

/* The header of bucket INDEX. */
static inline uint32_t cgx_blocks_header(const unsigned char *piece, size_t index)
{
    uint32_t header;

    memcpy(&header, piece + index * CGX_BUCKET_HEADER_BYTES, sizeof header);
    return header;
}

/* ---- what is zero ---- */

/* Bits PLANE of the code that stands for zero in a bucket with HEADER, as often as a byte holds
 * them; 0 where no code does. */
unsigned char cgx_blocks_zero(unsigned encoding, uint32_t header, int plane);

/* Which blocks of bucket INDEX must be sent, a bit each from the lowest on: none if all that it has
 * are zeros, else at least one, and its header is sent too. */
uint64_t cgx_blocks_find(const struct cgx_blocks *blocks, const unsigned char *piece, size_t index);

/* ---- maps ---- */

void cgx_blocks_map(const struct cgx_blocks *blocks, const unsigned char *piece,
                    unsigned char *map);

/* The bits of bucket INDEX. */
uint64_t cgx_blocks_bits(const struct cgx_blocks *blocks, const unsigned char *map, size_t index);

/* Whether all bits of MAP are of blocks that there are. */
bool cgx_blocks_is_map(const struct cgx_blocks *blocks, const unsigned char *map);

/* Bytes that the piece has when it is packed, those of MAP included. */
size_t cgx_blocks_packed(const struct cgx_blocks *blocks, const unsigned char *map);

#endif
