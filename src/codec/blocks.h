/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The blocks of a quantised piece, which a packed payload (packing.h) may leave out. With bit
 * planes a block is 64 elements; with codes bucket by bucket it is a bucket. PIECE, below, points
 * to the piece, bucket headers first. MAP is a map of its blocks in words of 64 bits: bit i is set
 * if block i is sent. */
#ifndef CGX_CODEC_BLOCKS_H
#define CGX_CODEC_BLOCKS_H

#include "codec/encoding.h"

struct cgx_blocks {
    unsigned encoding;
    size_t buckets, count;
    size_t each;               /* blocks of a complete bucket: a power of two, at most 64 */
    size_t offset[CGX_PLANES]; /* where each plane begins, from the piece's start */
    size_t bytes[CGX_PLANES];  /* bytes of a block's codes in each plane; a multiple of 8 */
    size_t end;                /* the piece's size in bytes */
    size_t map;
};

struct cgx_blocks cgx_blocks_of(const struct cgx_piece *piece, unsigned bucket_size);

static inline size_t cgx_blocks_in(const struct cgx_blocks *blocks, size_t index)
{
    size_t rest = blocks->count - index * blocks->each;

    return rest < blocks->each ? rest : blocks->each;
}

static inline size_t cgx_blocks_bytes(const struct cgx_blocks *blocks)
{
    return blocks->bytes[0] + blocks->bytes[1] + blocks->bytes[2];
}

static inline uint32_t cgx_blocks_header(const unsigned char *piece, size_t index)
{
    uint32_t header;

    memcpy(&header, piece + index * CGX_BUCKET_HEADER_BYTES, sizeof header);
    return header;
}

/* ---- zero blocks ---- */

/* What part PLANE of the code for zero is in a bucket with HEADER, repeated to fill a byte; 0 if no
 * code stands for zero. */
unsigned char cgx_blocks_zero(unsigned encoding, uint32_t header, int plane);

/* Which blocks of bucket INDEX must be sent, one bit each from the lowest: none if all elements of
 * the bucket are zero. Otherwise at least one bit is set, and the header is sent too. */
uint64_t cgx_blocks_find(const struct cgx_blocks *blocks, const unsigned char *piece, size_t index);

/* ---- maps ---- */

void cgx_blocks_map(const struct cgx_blocks *blocks, const unsigned char *piece,
                    unsigned char *map);

/* The map's bits for the blocks of bucket INDEX. */
uint64_t cgx_blocks_bits(const struct cgx_blocks *blocks, const unsigned char *map, size_t index);

/* Whether MAP has no bit for a block that does not exist. */
bool cgx_blocks_is_map(const struct cgx_blocks *blocks, const unsigned char *map);

size_t cgx_blocks_packed(const struct cgx_blocks *blocks, const unsigned char *map);

#endif
