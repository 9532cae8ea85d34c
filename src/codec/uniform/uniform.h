/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Uniform quantisation: one step for all elements, subtractive dither, and codes of variable length
 * (doc/format.md, "Uniform quantisation"). The code of an element x is k = round(x / step + d), its
 * level (k - d) * step. The error is at most half a step, evenly spread over it and independent of
 * x (Schuchman, "Dither Signals and Their Effect on Quantization Noise", IEEE Transactions on
 * Communication Technology 12(4), 1964).
 *
 * A piece has a head and, for each group of 1024 elements, where its words end, how often its step
 * is doubled, and 4 bits for each block of 64; then the groups' words. Blocks have Rice codes (Rice
 * and Plaunt, "Adaptive Variable-Length Coding for Efficient Compression of Spacecraft Television
 * Data", IEEE Transactions on Communication Technology 19(6), 1971), as masks of 64 bits. A group
 * has at most 128 words, 8 bits to an element, or where errors are bounded 512. */
#ifndef CGX_CODEC_UNIFORM_UNIFORM_H
#define CGX_CODEC_UNIFORM_UNIFORM_H

#include "codec/format.h"
#include "codec/quant.h"
#include "util/integers.h"

#define CGX_UNIFORM 48       /* encodings are this + width */
#define CGX_UNIFORM_WIDTHS 5 /* the error is that of rotated quantisation at as many bits */

/* In the place of a width: the step is never doubled, so that it bounds errors. */
#define CGX_UNIFORM_BOUNDED (CGX_UNIFORM_WIDTHS + 1)

#define CGX_UNIFORM_BLOCK 64
#define CGX_UNIFORM_GROUP 1024
#define CGX_UNIFORM_BLOCKS (CGX_UNIFORM_GROUP / CGX_UNIFORM_BLOCK) /* of a group */

/* The most words of 64 bits that a block has on average: 8 bits to an element, or float32. */
static inline unsigned cgx_uniform_block_words(unsigned encoding)
{
    return encoding == CGX_UNIFORM + CGX_UNIFORM_BOUNDED ? 32 : 8;
}

/* The most bytes of a group, but for what a piece has but once. */
static inline size_t cgx_uniform_group_bytes(unsigned encoding)
{
    return CGX_UNIFORM_BLOCKS * (cgx_uniform_block_words(encoding) * sizeof(uint64_t) + 1);
}

/* What the 4 bits of a block say; below CGX_UNIFORM_PLAIN: the parameter of its Rice codes. */
enum {
    CGX_UNIFORM_PLAIN = 7, /* codes of 8 bits */
    CGX_UNIFORM_NONE,      /* all codes are 0 */
    CGX_UNIFORM_ZEROS,     /* all elements are 0 */
    CGX_UNIFORM_RAW,       /* float32 elements */
    CGX_UNIFORM_POISON,    /* all elements are NaN */
    CGX_UNIFORM_KINDS
};

#define CGX_UNIFORM_MOST_CODE 126 /* in magnitude */

/* Steps, those of groups too. */
#define CGX_UNIFORM_LEAST_STEP 0x1p-120f
#define CGX_UNIFORM_MOST_STEP 0x1p126f

static inline bool cgx_uniform_is_step(float step)
{
    return step >= CGX_UNIFORM_LEAST_STEP && step <= CGX_UNIFORM_MOST_STEP;
}

/* ---- a piece ---- */

/* Begins a piece, in this form. */
struct cgx_uniform_head {
    float step;
    uint32_t key;   /* of the dither */
    uint64_t words; /* of all groups */
    /* The sum of the squares of all that was quantised for the piece: of what it encodes, less the
     * errors that this holds, and, if this is a sum, for its sources; not finite where one of them
     * is not. And how many elements that are. */
    double energy;
    uint64_t elements;
};

/* Where the parts of a piece are, in bytes from its start; each is at a multiple of 16. */
struct cgx_uniform_layout {
    size_t groups, blocks;
    size_t ends;      /* 32 bits for each group: the words up to its end */
    size_t exponents; /* 8 bits for each group: its step is 2^EXPONENT of the piece's */
    size_t kinds;     /* 64 bits for each group, 4 for each block */
    size_t words;
};

static inline struct cgx_uniform_layout cgx_uniform_layout_of(size_t count)
{
    struct cgx_uniform_layout layout;

    layout.groups = cgx_bucket_count(count, CGX_UNIFORM_GROUP);
    layout.blocks = cgx_bucket_count(count, CGX_UNIFORM_BLOCK);
    layout.ends = sizeof(struct cgx_uniform_head);
    layout.exponents =
        layout.ends + cgx_round_up(layout.groups * sizeof(uint32_t), CGX_PIECE_ALIGNMENT);
    layout.kinds = layout.exponents + cgx_round_up(layout.groups, CGX_PIECE_ALIGNMENT);
    layout.words =
        layout.kinds + cgx_round_up(layout.groups * sizeof(uint64_t), CGX_PIECE_ALIGNMENT);
    return layout;
}

/* The most words of a piece of COUNT elements in ENCODING. */
static inline size_t cgx_uniform_most_words(size_t count, unsigned encoding)
{
    return cgx_bucket_count(count, CGX_UNIFORM_BLOCK) * cgx_uniform_block_words(encoding);
}

/* The most bytes of such a piece, and 16 more that a decoder may read; a multiple of 16. */
static inline size_t cgx_uniform_bytes(size_t count, unsigned encoding)
{
    return cgx_uniform_layout_of(count).words +
           cgx_uniform_most_words(count, encoding) * sizeof(uint64_t) + CGX_PIECE_ALIGNMENT;
}

static inline struct cgx_uniform_head cgx_uniform_head_of(const unsigned char *piece)
{
    struct cgx_uniform_head head;

    memcpy(&head, piece, sizeof head);
    return head;
}

/* The bytes that PIECE, of COUNT elements in ENCODING, uses of its most, as its head says: a
 * multiple of 16. 0: it says more than that. */
size_t cgx_uniform_used(const unsigned char *piece, size_t count, unsigned encoding);

/* The step of group INDEX of PIECE, of COUNT elements: 0 where all its elements are, NaN where a
 * block is poisoned. */
float cgx_uniform_scale(const unsigned char *piece, size_t count, size_t index);

/* ---- arithmetic ---- */

/* The part of its width's squared error that a piece without a step has, for three bits an element
 * more: that of the first sum, and of those with a young history. Adam divides by the root of a
 * mean of squares, which begins with these sums: it keeps their errors for a thousand steps. */
#define CGX_UNIFORM_FIRST 0.015625

/* The step at which the squared error is ERROR, relative to elements whose squares add up to
 * ENERGY; COUNT of them. */
CGX_QUANT float cgx_uniform_step(double energy, double count, double error)
{
    double step = sqrt(12 * error * energy / count);

    return step < (double)CGX_UNIFORM_LEAST_STEP  ? CGX_UNIFORM_LEAST_STEP
           : step > (double)CGX_UNIFORM_MOST_STEP ? CGX_UNIFORM_MOST_STEP
                                                  : (float)step;
}

/* The step with which sums of RANKS ranks are off by BOUND at most. An element is quantised at most
 * RANKS times: each but the last brings one rank's part to others. What is left is for rounding. */
CGX_QUANT float cgx_uniform_bounded_step(float bound, unsigned ranks)
{
    return 2 * bound / ((float)ranks + 1);
}

/* The key of the dither of what STREAM quantises when its sum has been compressed TURN times. The
 * lowest byte shifts the dithers of all elements, by multiples of the golden section from turn to
 * turn; in turns 256n to 256n + 255 the others do not change. So the errors of an element that
 * hardly changes cancel each other within a few turns (Weyl's sequence), while the error of a
 * single turn is as random as with a key of its own. */
CGX_QUANT uint32_t cgx_uniform_key(uint64_t seed, uint32_t stream, uint32_t turn)
{
    uint32_t key = cgx_mix((cgx_call_key(seed, turn / 256) ^ stream) + 0x9E3779B9u);

    return (key & ~255u) | turn * 0x9E3779B9u >> 24;
}

/* The KEY of a sum that has a source with the key SOURCE. Where all have one step the fractions of
 * quotients shift with the dithers of sources; the shift of the sum is apart from that of all. */
CGX_QUANT uint32_t cgx_uniform_shifted(uint32_t key, uint32_t source)
{
    return (key & ~255u) | ((key + source) & 255);
}

/* Byte j, from the lowest, plus that of KEY, modulo 256, is for the dither of element 16j + LANE of
 * block number BLOCK of the buffer. */
CGX_QUANT uint32_t cgx_uniform_hash(uint32_t key, uint32_t block, uint32_t lane)
{
    uint32_t h = (16 * block + lane) * 0x9E3779B9u + (key & ~255u);

    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* Of a sum as above: an odd number of 512ths from -255 to 255. An element that is smaller than the
 * least of them leaves no trace, however often it is summed, so there are many. */
CGX_QUANT float cgx_uniform_dither(uint32_t byte)
{
    return (float)(2 * (int32_t)byte - 255) * 0x1p-9f;
}

/* The parameter of a block whose codes k, as 2k or -2k - 1, add up to SUM, or CGX_UNIFORM_PLAIN:
 * about the binary logarithm of their mean times ln 2. A block has at most 512 bits. */
CGX_QUANT unsigned cgx_uniform_parameter(uint32_t sum)
{
    uint32_t scaled = sum * 45 >> 12;
    unsigned parameter = 0;

    for (unsigned i = 0; i < 6; i++)
        parameter += scaled >> i != 0;
    return 64 * parameter + 64 + (sum >> parameter) < 512 ? parameter : (unsigned)CGX_UNIFORM_PLAIN;
}

#endif
