/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/blocks.h"

#include "codec/encoding.h"
#include "codec/quant.h"

struct cgx_blocks cgx_blocks_of(const struct cgx_piece *piece, unsigned bucket_size)
{
    struct cgx_layout layout =
        cgx_piece_layout(piece->count, piece->bits, bucket_size, CGX_FLOAT32 /* without effect */);
    const size_t elements = CGX_CODES_MULTIPLE;
    struct cgx_blocks blocks = {.encoding = piece->bits,
                                .buckets = layout.buckets,
                                .count = layout.elements / elements,
                                .each = cgx_encoding_bucket(piece->bits, bucket_size) / elements,
                                .end = layout.bytes};

    for (int i = 0; i < CGX_PLANES; i++) {
        blocks.offset[i] = layout.plane[i];
        blocks.bytes[i] = elements / 8 * cgx_encoding_plane(piece->bits, i);
    }
    blocks.map = (blocks.count + 8 * CGX_PIECE_ALIGNMENT - 1) / (8 * CGX_PIECE_ALIGNMENT) *
                 CGX_PIECE_ALIGNMENT;
    return blocks;
}

/* ---- maps: bit i is set if block i is sent ---- */

static uint64_t ones(size_t count)
{
    return count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static uint64_t word_at(const unsigned char *map, size_t bit)
{
    uint64_t word;

    memcpy(&word, map + bit / 64 * sizeof word, sizeof word);
    return word;
}

/* The bits of a bucket lie in one word, since EACH is a power of two and at most 64. */
uint64_t cgx_blocks_bits(const struct cgx_blocks *blocks, const unsigned char *map, size_t index)
{
    size_t first = index * blocks->each;

    return word_at(map, first) >> first % 64 & ones(cgx_blocks_in(blocks, index));
}

bool cgx_blocks_is_map(const struct cgx_blocks *blocks, const unsigned char *map)
{
    for (size_t bit = blocks->count; bit < 8 * blocks->map; bit = (bit / 64 + 1) * 64) {
        if (word_at(map, bit) >> bit % 64 != 0)
            return false;
    }
    return true;
}

size_t cgx_blocks_packed(const struct cgx_blocks *blocks, const unsigned char *map)
{
    size_t bytes = blocks->map + blocks->end;

    for (size_t k = 0; k < blocks->buckets; k++) {
        uint64_t bits = cgx_blocks_bits(blocks, map, k);
        size_t sent = (size_t)__builtin_popcountll(bits);

        bytes -= (cgx_blocks_in(blocks, k) - sent) * cgx_blocks_bytes(blocks);
        bytes -= bits == 0 ? CGX_BUCKET_HEADER_BYTES : 0;
    }
    return bytes;
}

/* ---- zero blocks ---- */

unsigned char cgx_blocks_zero(unsigned encoding, uint32_t header, int plane)
{
    static const unsigned char repeated[] = {[1] = 0xFF, [2] = 0x55, [4] = 0x11, [8] = 0x01};
    unsigned width = cgx_encoding_plane(encoding, plane), below = 0;
    int32_t code = -cgx_header_zero(header);

    if (!cgx_header_is_grid(header) || code < 0 || code >= 1 << encoding || width == 0)
        return 0;
    for (int i = 0; i < plane; i++)
        below += cgx_encoding_plane(encoding, i);
    return (unsigned char)(((unsigned)code >> below & ((1u << width) - 1)) * repeated[width]);
}

/* Whether any of BYTES, a positive multiple of 8, differs from BYTE. Compares the first 8, then
 * each byte with the one 8 before it. */
static bool differs(const unsigned char *codes, size_t bytes, unsigned char byte)
{
    uint64_t zero = byte * UINT64_C(0x0101010101010101), first;

    memcpy(&first, codes, sizeof first);
    return first != zero || memcmp(codes, codes + sizeof first, bytes - sizeof first) != 0;
}

uint64_t cgx_blocks_find(const struct cgx_blocks *blocks, const unsigned char *piece, size_t index)
{
    size_t first = index * blocks->each, count = cgx_blocks_in(blocks, index);
    uint32_t header = cgx_blocks_header(piece, index);
    uint64_t bits = 0;

    for (int i = 0; i < CGX_PLANES; i++) {
        size_t bytes = blocks->bytes[i];
        const unsigned char *codes = piece + blocks->offset[i] + first * bytes;
        unsigned char zero = cgx_blocks_zero(blocks->encoding, header, i);

        if (bytes == 0 || !differs(codes, count * bytes, zero))
            continue;
        for (size_t j = 0; j < count; j++) {
            if ((bits >> j & 1) == 0 && differs(codes + j * bytes, bytes, zero))
                bits |= (uint64_t)1 << j;
        }
    }
    return bits == 0 && header != CGX_BUCKET_CONSTANT ? 1 : bits;
}

void cgx_blocks_map(const struct cgx_blocks *blocks, const unsigned char *piece, unsigned char *map)
{
    memset(map, 0, blocks->map);
    for (size_t k = 0; k < blocks->buckets; k++) {
        size_t first = k * blocks->each;
        uint64_t word = word_at(map, first) | cgx_blocks_find(blocks, piece, k) << first % 64;

        memcpy(map + first / 64 * sizeof word, &word, sizeof word);
    }
}
