/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Uniform quantisation once more, bit by bit and straight from doc/format.md, with the arithmetic
 * and the layout of no file of src/codec. One function goes through the parts of a group
 * (uniform_parts), whether they are written or read. */
#ifndef CGX_TESTS_UNIFORM_REFERENCE_H
#define CGX_TESTS_UNIFORM_REFERENCE_H

#include <math.h>
#include <string.h>

#include "unit/lib/codec_data.h"

/* ---- bits ---- */

struct uniform_bits {
    unsigned char *bytes;
    size_t at, end; /* AT may be beyond END: there are zeros, and nothing is written */
    bool writes;
};

/* Writes BIT, or reads one. Returns it. */
static inline unsigned uniform_bit(struct uniform_bits *bits, unsigned bit)
{
    unsigned char *byte = bits->bytes + bits->at / 8;
    unsigned shift = bits->at++ % 8;

    if (bits->at > bits->end)
        return bits->writes ? bit : 0;
    if (bits->writes)
        *byte = (unsigned char)((*byte & ~(1u << shift)) | bit << shift);
    return *byte >> shift & 1;
}

static inline uint32_t uniform_number(struct uniform_bits *bits, uint32_t number, unsigned count)
{
    uint32_t result = 0;

    for (unsigned i = 0; i < count; i++)
        result |= uniform_bit(bits, number >> i & 1) << i;
    return result;
}

/* ---- a block ---- */

/* Of its codes, whose elements are AT, Q is the quotient and R the rest. */
struct uniform_block {
    unsigned kind, form, n;
    unsigned at[64], q[64], r[64];
    unsigned nibbles;
    bool is_zero[64];
    uint32_t raw[64];
};

static inline bool uniform_is_rice(unsigned form)
{
    return form != 7 && form != 8;
}

static inline unsigned uniform_planes(unsigned form)
{
    return form >= 16 ? form - 16 : form == 7 ? 8 : form < 7 ? form : 0;
}

static inline unsigned uniform_code(const struct uniform_block *block, unsigned i)
{
    return block->q[i] << uniform_planes(block->form) | block->r[i];
}

static inline bool uniform_may_have(unsigned kind, unsigned form)
{
    if (form >= 16)
        return form <= 30 && kind != 13;
    return kind != 14 && (form <= 8 || form == 15);
}

/* Whether code I reaches LEVEL. */
static inline void uniform_level(struct uniform_block *block, unsigned i, unsigned level,
                                 struct uniform_bits *bits)
{
    if (uniform_bit(bits, block->q[i] >= level) && block->q[i] < level)
        block->q[i] = level;
}

/* The masks of the codes' lowest bits, and the first mask or which nibbles of it have a bit. */
static inline void uniform_first(struct uniform_block *block, struct uniform_bits *bits)
{
    for (unsigned bit = 0; bit < uniform_planes(block->form); bit++)
        for (unsigned i = 0; i < block->n; i++)
            block->r[i] |= uniform_bit(bits, block->r[i] >> bit & 1) << bit;
    if (block->form == 15)
        block->nibbles = uniform_number(bits, block->nibbles, 16);
    else if (uniform_is_rice(block->form))
        for (unsigned i = 0; i < block->n; i++)
            uniform_level(block, i, 1, bits);
}

/* What a block has in the first part: whole words. */
static inline void uniform_words(struct uniform_block *block, struct uniform_bits *bits)
{
    for (unsigned i = 0; i < 64 && block->kind == 10; i++)
        block->raw[i] = uniform_number(bits, block->raw[i], 32);
    for (unsigned i = 0; i < 64 && block->kind == 12; i++)
        block->is_zero[i] = !uniform_bit(bits, !block->is_zero[i]);
    for (unsigned i = 0; i < 64 && (block->kind < 9 || block->kind > 11); i++)
        if (block->kind != 12 || !block->is_zero[i])
            block->at[block->n++] = i;
    if (block->kind < 8)
        uniform_first(block, bits);
}

static inline void uniform_nibbles(struct uniform_block *block, struct uniform_bits *bits)
{
    for (unsigned i = 0; i < 64; i++) {
        if (!(block->nibbles >> i / 4 & 1))
            continue;
        if (i < block->n)
            uniform_level(block, i, 1, bits);
        else
            uniform_bit(bits, 0);
    }
}

static inline void uniform_holes(struct uniform_block *block, struct uniform_bits *bits)
{
    for (unsigned i = 0; i < block->n; i++)
        if (uniform_code(block, i) == 0)
            block->is_zero[i] = !uniform_bit(bits, !block->is_zero[i]);
}

/* Writes or reads a group of N blocks, of which kinds and the forms that follow from these are set;
 * to write, all but N, AT, Q and R beyond their codes. False: there is no such group. */
static inline bool uniform_parts(struct uniform_block *blocks, size_t n, struct uniform_bits *bits)
{
    for (size_t b = 0; b < n; b++)
        uniform_words(&blocks[b], bits);
    for (size_t b = 0; b < n; b++)
        if (blocks[b].kind >= 12 && blocks[b].kind <= 14) {
            blocks[b].form = uniform_number(bits, blocks[b].form, 5);
            if (!uniform_may_have(blocks[b].kind, blocks[b].form))
                return false;
        }
    for (size_t b = 0; b < n; b++)
        if (blocks[b].kind >= 12)
            uniform_first(&blocks[b], bits);
    for (size_t b = 0; b < n; b++)
        uniform_nibbles(&blocks[b], bits);
    for (unsigned level = 2; level <= 12; level++)
        for (size_t b = 0; b < n; b++)
            for (unsigned i = 0; uniform_is_rice(blocks[b].form) && i < blocks[b].n; i++)
                if (blocks[b].q[i] >= level - 1)
                    uniform_level(&blocks[b], i, level, bits);
    for (size_t b = 0; b < n; b++)
        for (unsigned i = 0; i < blocks[b].n; i++)
            if (blocks[b].q[i] >= 12)
                blocks[b].q[i] = 12 + uniform_number(bits, blocks[b].q[i] - 12, 8);
    for (size_t b = 0; b < n; b++)
        if (blocks[b].kind == 13)
            uniform_holes(&blocks[b], bits);
    for (size_t b = 0; b < n; b++)
        for (unsigned i = 0; i < blocks[b].n; i++)
            if (blocks[b].q[i] > 255 ||
                uniform_code(&blocks[b], i) > (blocks[b].form < 16 ? 255 : 65535))
                return false;
    return true;
}

/* ---- dithers ---- */

static inline uint32_t uniform_mix(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* The dither of element I of the buffer. */
static inline float uniform_dither(uint32_t key, size_t i)
{
    uint32_t n = (uint32_t)(i / 64 * 16 + i % 16);
    uint32_t h = uniform_mix(n * 0x9E3779B9u + key / 256 * 256);

    return ((float)(((h >> (8 * (i % 64 / 16))) + key) & 255) * 2 - 255) / 512;
}

/* ---- the layout of a piece ---- */

struct uniform_layout {
    size_t groups, ends, exponents, kinds, words;
};

static inline struct uniform_layout uniform_layout_of(size_t count)
{
    struct uniform_layout layout = {.groups = (count + 1023) / 1024, .ends = 32};

    layout.exponents = layout.ends + (4 * layout.groups + 15) / 16 * 16;
    layout.kinds = layout.exponents + (layout.groups + 15) / 16 * 16;
    layout.words = layout.kinds + (8 * layout.groups + 15) / 16 * 16;
    return layout;
}

/* The number of blocks of group G of a piece. */
static inline size_t uniform_blocks_of(size_t count, size_t g)
{
    return (count - 1024 * g < 1024 ? count - 1024 * g + 63 : 1024) / 64;
}

/* ---- decoding ---- */

/* Blocks that have been decoded, by kind and form. */
static unsigned uniform_seen[16][32];

/* Decodes a group of N blocks and WORDS; its first element is element FIRST of the buffer. */
static inline bool uniform_decode_group(const unsigned char *kinds, const unsigned char *words,
                                        size_t nwords, size_t n, size_t first, float step,
                                        uint32_t key, float *values)
{
    struct uniform_bits bits = {(unsigned char *)words, 0, 64 * nwords, false};
    struct uniform_block blocks[16] = {0};

    for (size_t b = 0; b < 16; b++) {
        unsigned kind = kinds[b / 2] >> 4 * (b % 2) & 15;

        if (b >= n && kind != 0)
            return false;
        blocks[b].kind = kind;
        blocks[b].form = kind >= 9 && kind <= 11 ? 8 : kind;
    }
    if (!uniform_parts(blocks, n, &bits) || (bits.at + 63) / 64 != nwords)
        return false;
    for (size_t b = 0; b < n; b++) {
        const struct uniform_block *block = &blocks[b];

        uniform_seen[block->kind][block->form]++;
        for (unsigned i = 0; i < 64; i++) {
            float raw = cgx_bits_float(block->raw[i]);

            values[64 * b + i] = block->kind == 11 || isnan(raw) ? cgx_bits_float(0x7FC00000)
                                 : raw == 0                      ? 0
                                                                 : raw;
        }
        for (unsigned i = 0; i < block->n; i++) {
            unsigned code = uniform_code(block, i);
            size_t at = 64 * b + block->at[i];
            int k = code % 2 ? -(int)(code / 2) - 1 : (int)(code / 2);

            if (!block->is_zero[block->at[i]])
                values[at] = ((float)k - uniform_dither(key, first + at)) * step;
        }
    }
    return true;
}

/* Decodes PIECE to VALUES, which have room for whole blocks. False: it is refused. */
static inline bool uniform_decode(const unsigned char *piece, size_t first, size_t count,
                                  float *values)
{
    const struct uniform_layout layout = uniform_layout_of(count);
    uint32_t key, begin = 0, end;
    uint64_t words;
    float step;

    memcpy(&step, piece, 4);
    memcpy(&key, piece + 4, 4);
    memcpy(&words, piece + 8, 8);
    if (!(step >= 0x1p-109f && step <= 0x1p126f) || words > (count + 63) / 64 * 10)
        return false;
    for (size_t g = 0; g < layout.groups; g++, begin = end) {
        size_t blocks = uniform_blocks_of(count, g);
        float own = ldexpf(step, piece[layout.exponents + g] - 24);

        memcpy(&end, piece + layout.ends + 4 * g, 4);
        if (end < begin || end - begin > 10 * blocks || !(own >= 0x1p-120f && own <= 0x1p126f) ||
            !uniform_decode_group(piece + layout.kinds + 8 * g,
                                  piece + layout.words + 8 * (size_t)begin, end - begin, blocks,
                                  first + 1024 * g, own, key, values + 1024 * g))
            return false;
    }
    return true;
}

#endif
