/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Uniform quantisation (doc/format.md, "Uniform quantisation"): one step for all elements of a
 * piece, subtractive dither, and codes of variable length. An element x with the dither d has the
 * code k = round(x / step + d) and the level (k - d) * step. The error is at most half a step,
 * uniformly distributed and independent of x (Schuchman, "Dither Signals and Their Effect on
 * Quantization Noise", IEEE Transactions on Communication Technology 12(4), 1964).
 *
 * A piece begins with a head. For each group of 1024 elements there follow the end of its words,
 * the exponent of its step, and 4 bits for each block of 64 elements; then come the words of all
 * groups. Blocks have Rice codes (Rice and Plaunt, "Adaptive Variable-Length Coding for Efficient
 * Compression of Spacecraft Television Data", IEEE Transactions on Communication Technology 19(6),
 * 1971), stored as masks: for each level one of the elements that have reached the level before.
 * The masks of one level of all blocks follow each other, so that where each begins is a sum of
 * ones in the level before. Elements that are 0 stay 0. A group has at most 160 words, 10 bits for
 * each element. */
#ifndef CGX_CODEC_UNIFORM_UNIFORM_H
#define CGX_CODEC_UNIFORM_UNIFORM_H

#include "codec/format.h"
#include "codec/quant.h"

#define CGX_UNIFORM 48 /* encodings are this + width */
#define CGX_UNIFORM_WIDTHS 8

#define CGX_UNIFORM_BLOCK 64
#define CGX_UNIFORM_GROUP 1024
#define CGX_UNIFORM_BLOCKS (CGX_UNIFORM_GROUP / CGX_UNIFORM_BLOCK) /* blocks of a group */

/* The most 64-bit words per block, on average over a group: 10 bits for each element. */
#define CGX_UNIFORM_BLOCK_WORDS 10

/* Squares of the groups of a piece are added in so many sums, as the threads of a block on a device
 * do: group i goes to sum i modulo their number, in order. */
#define CGX_UNIFORM_SUMS 128

/* An upper bound on the bytes of a group, without the head of its piece. */
#define CGX_UNIFORM_GROUP_BYTES \
    (CGX_UNIFORM_BLOCKS * (CGX_UNIFORM_BLOCK_WORDS * sizeof(uint64_t) + 1))

/* Kinds of blocks, in 4 bits, and forms of codes. A kind up to CGX_UNIFORM_NONE, and
 * CGX_UNIFORM_NIBBLES, is the form of its block; one below CGX_UNIFORM_PLAIN is the parameter of
 * the block's Rice codes. Blocks of the kinds from CGX_UNIFORM_SPARSE to CGX_UNIFORM_WIDE have
 * their form, of 5 bits, among their words. */
enum {
    CGX_UNIFORM_PLAIN = 7, /* codes of 8 bits */
    CGX_UNIFORM_NONE,      /* all codes are 0 */
    CGX_UNIFORM_ZEROS,     /* all elements are zeros */
    CGX_UNIFORM_RAW,
    CGX_UNIFORM_POISON,
    CGX_UNIFORM_SPARSE,    /* a mask of the elements that are no zeros; codes of these */
    CGX_UNIFORM_HOLES,     /* codes of all; a mask of those with code 0 that are no zeros */
    CGX_UNIFORM_WIDE,      /* codes of 16 bits */
    CGX_UNIFORM_NIBBLES,   /* parameter 0, the first mask in two levels */
    CGX_UNIFORM_WIDE_FORM, /* a form from this on: codes of 16 bits, and their parameter */
    CGX_UNIFORM_FORMS = CGX_UNIFORM_WIDE_FORM + 15
};
#define CGX_UNIFORM_FORM_BITS 5

#define CGX_UNIFORM_MOST_CODE 126        /* the largest magnitude of a code of 8 bits */
#define CGX_UNIFORM_MOST_WIDE_CODE 32767 /* of 16 bits */

/* The last level that has a mask. Of elements that reach it 8 bits say how far they go beyond. */
#define CGX_UNIFORM_LEVELS 12

/* Limits for the steps of pieces and of groups. A group's step is 2^e times its piece's. */
#define CGX_UNIFORM_LEAST_STEP 0x1p-109f
#define CGX_UNIFORM_LEAST_GROUP_STEP 0x1p-120f
#define CGX_UNIFORM_MOST_STEP 0x1p126f
#define CGX_UNIFORM_LEAST_EXPONENT (-24) /* stored as 0 */

CGX_QUANT bool cgx_uniform_is_step(float step)
{
    return step >= CGX_UNIFORM_LEAST_STEP && step <= CGX_UNIFORM_MOST_STEP;
}

CGX_QUANT bool cgx_uniform_is_group_step(float step)
{
    return step >= CGX_UNIFORM_LEAST_GROUP_STEP && step <= CGX_UNIFORM_MOST_STEP;
}

/* ---- a piece ---- */

struct cgx_uniform_head {
    float step;
    uint32_t key;   /* of the dither */
    uint64_t words; /* number of words of all groups */
    /* The sum of squares of all values that were quantised for the piece: its own, without the
     * errors that they already have, and, in a sum, those of its sources. Not finite if one of them
     * is not. ELEMENTS is the number of all these values. */
    double energy;
    uint64_t elements;
};

/* Offsets of the parts of a piece in bytes from its start, multiples of 16. */
struct cgx_uniform_layout {
    size_t groups;
    size_t ends;      /* 32 bits per group: the number of words up to its end */
    size_t exponents; /* 8 bits per group: its step is 2^EXPONENT times the piece's, as stored */
    size_t kinds;     /* 64 bits per group, 4 per block */
    size_t words;
};

CGX_QUANT size_t cgx_uniform_aligned(size_t bytes)
{
    return (bytes + CGX_PIECE_ALIGNMENT - 1) / CGX_PIECE_ALIGNMENT * CGX_PIECE_ALIGNMENT;
}

CGX_QUANT struct cgx_uniform_layout cgx_uniform_layout_of(size_t count)
{
    struct cgx_uniform_layout layout;

    layout.groups = (count + CGX_UNIFORM_GROUP - 1) / CGX_UNIFORM_GROUP;
    layout.ends = sizeof(struct cgx_uniform_head);
    layout.exponents = layout.ends + cgx_uniform_aligned(layout.groups * sizeof(uint32_t));
    layout.kinds = layout.exponents + cgx_uniform_aligned(layout.groups);
    layout.words = layout.kinds + cgx_uniform_aligned(layout.groups * sizeof(uint64_t));
    return layout;
}

/* The most words of a piece of COUNT elements. */
CGX_QUANT size_t cgx_uniform_most_words(size_t count)
{
    return (count + CGX_UNIFORM_BLOCK - 1) / CGX_UNIFORM_BLOCK * CGX_UNIFORM_BLOCK_WORDS;
}

/* The most bytes of such a piece, plus 16 behind them that a decoder may read; a multiple of 16. */
static inline size_t cgx_uniform_bytes(size_t count)
{
    return cgx_uniform_layout_of(count).words + cgx_uniform_most_words(count) * sizeof(uint64_t) +
           CGX_PIECE_ALIGNMENT;
}

static inline struct cgx_uniform_head cgx_uniform_head_of(const unsigned char *piece)
{
    struct cgx_uniform_head head;

    memcpy(&head, piece, sizeof head);
    return head;
}

/* The bytes that PIECE, of COUNT elements, uses according to its head, a multiple of 16; 0 if the
 * head has more words than a piece may. */
static inline size_t cgx_uniform_used(const unsigned char *piece, size_t count)
{
    uint64_t words = cgx_uniform_head_of(piece).words;

    if (words > cgx_uniform_most_words(count))
        return 0;
    return cgx_uniform_layout_of(count).words + cgx_uniform_aligned(words * sizeof(uint64_t));
}

/* ---- arithmetic ---- */

/* The squared error of a width relative to the squared elements. Up to 5 it is the least that codes
 * of as many bits can have on normal elements (Lloyd, "Least Squares Quantization in PCM", IEEE
 * Transactions on Information Theory 28(2), 1982), beyond that of max-min quantisation in buckets
 * of 128. */
CGX_QUANT double cgx_uniform_error(unsigned width)
{
    return width == 1   ? 0.570796
           : width == 2 ? 0.133121
           : width == 3 ? 0.0358197
           : width == 4 ? 0.00963036
           : width == 5 ? 0.00252155
           : width == 6 ? 6.5e-4
           : width == 7 ? 1.6e-4
                        : 3.5e-5;
}

/* The step that gives COUNT elements whose squares add up to ENERGY the relative squared error
 * ERROR, within the limits for steps. */
CGX_QUANT float cgx_uniform_step(double energy, double count, double error)
{
    double step = sqrt(12 * error * energy / count);

    return step < (double)CGX_UNIFORM_LEAST_STEP  ? CGX_UNIFORM_LEAST_STEP
           : step > (double)CGX_UNIFORM_MOST_STEP ? CGX_UNIFORM_MOST_STEP
                                                  : (float)step;
}

/* The step of a group: STEP, of its piece, times 2^EXPONENT; infinite if beyond float32. STEP must
 * be valid, and the result above 2^-126. */
CGX_QUANT float cgx_uniform_scaled(float step, int32_t exponent)
{
    uint32_t bits = cgx_float_bits(step) + ((uint32_t)exponent << 23);

    return cgx_bits_float(bits < 0x7F800000u ? bits : 0x7F800000u);
}

/* The step size of a group of a piece with STEP, from the exponent that the piece has STORED; 0 if
 * below 2^-126. */
CGX_QUANT float cgx_uniform_group_step(float step, uint32_t stored)
{
    int32_t exponent = (int32_t)stored + CGX_UNIFORM_LEAST_EXPONENT;

    return (int32_t)(cgx_float_bits(step) >> 23) + exponent > 0 ? cgx_uniform_scaled(step, exponent)
                                                                : 0;
}

/* The exponent, at most 0, of a group whose step must be less than STEP, its piece's, so that the
 * mean square of its errors is at most PART of that of its COUNT elements that are no zeros.
 * SQUARES: the sum of their squares. */
CGX_QUANT int32_t cgx_uniform_floor(float step, float part, float squares, uint32_t count)
{
    int32_t least = 127 - 120 - (int32_t)(cgx_float_bits(step) >> 23), exponent;
    double ratio;
    uint64_t bits;

    if (!(part > 0) || count == 0 || !(squares > 0) || !(squares < 0x1p126f))
        return 0;
    ratio = 12 * (double)part * (double)squares / ((double)count * (double)step * (double)step);
    memcpy(&bits, &ratio, sizeof bits);
    exponent = ((int32_t)(bits >> 52) - 1023) >> 1;
    least = least > CGX_UNIFORM_LEAST_EXPONENT ? least : CGX_UNIFORM_LEAST_EXPONENT;
    exponent = exponent > least ? exponent : least;
    return exponent < 0 ? exponent : 0;
}

/* The key of the dithers with which STREAM quantises in STAGE of a sum that has been compressed
 * TURN times before. The lowest byte shifts the dithers of all elements from each turn to the next;
 * the other bytes are the same in turns 256n to 256n + 255. The errors of an element that hardly
 * changes thus cancel each other within a few turns (Weyl's sequence), while the error in a single
 * turn is as random as with a new key. The shifts of inputs are the golden section, those of sums
 * the roots of 2, 3 and 7: what a sum rounds depends on the shifts of its sources, so with one
 * number for all, errors would be alike from turn to turn. */
CGX_QUANT uint32_t cgx_uniform_key(uint32_t stream, uint32_t turn, uint32_t stage)
{
    uint32_t key = cgx_mix((cgx_call_key(turn / 256) ^ stream) + 0x9E3779B9u);
    uint32_t shift = stage == 0   ? 0x9E3779B9u
                     : stage == 1 ? 0x6A09E667u
                     : stage == 2 ? 0xBB67AE85u
                                  : 0xA54FF53Au;

    return (key & ~255u) | turn * shift >> 24;
}

/* How far a source with KEY and step size SOURCE shifts the quotients of a sum with step size STEP,
 * in 256ths; 0 if the shift is too large for a float. */
CGX_QUANT uint32_t cgx_uniform_shift(uint32_t key, float source, float step)
{
    float shift = (float)(key & 255) * (source / step) + 0.5f;

    return shift >= 0 && shift < 0x1p23f ? (uint32_t)(int32_t)shift : 0;
}

/* KEY, the key of a sum, with SHIFT added, those of all sources: the sum's dithers shift relative
 * to its quotients by the sum's own shift. */
CGX_QUANT uint32_t cgx_uniform_shifted(uint32_t key, uint32_t shift)
{
    return (key & ~255u) | ((key + shift) & 255);
}

/* Byte j, counted from the lowest, plus the lowest byte of KEY, modulo 256, gives the dither of
 * element 16j + LANE of block BLOCK of the buffer. */
CGX_QUANT uint32_t cgx_uniform_hash(uint32_t key, uint32_t block, uint32_t lane)
{
    return cgx_mix((16 * block + lane) * 0x9E3779B9u + (key & ~255u));
}

/* The dither for such a BYTE: an odd number of 512ths from -255 to 255. An element below a 512th of
 * the step changes no code, however often it is summed, so there are many dithers. The units of a
 * float from 2^14 on are 512ths; devices convert integers slowly. */
CGX_QUANT float cgx_uniform_dither(uint32_t byte)
{
    return cgx_bits_float(0x46800000u | byte << 1) - (0x1p14f + 255 * 0x1p-9f);
}

/* The Rice parameter of COUNT codes, 2k or -2k - 1 for k, that add up to SUM: about the binary
 * logarithm of their mean times ln 2, at most MOST. */
CGX_QUANT uint32_t cgx_uniform_parameter(uint32_t sum, uint32_t count, uint32_t most)
{
    uint32_t parameter = 0;

    for (uint32_t i = 0; i < most; i++)
        parameter += 45 * sum >= (64 * count) << i;
    return parameter;
}

/* The form of such codes of 8 bits: their parameter, or CGX_UNIFORM_PLAIN if they take no more bits
 * so; CGX_UNIFORM_NONE if all are 0. */
CGX_QUANT uint32_t cgx_uniform_form(uint32_t sum, uint32_t count)
{
    uint32_t parameter = cgx_uniform_parameter(sum, count, 6);

    if (sum == 0)
        return CGX_UNIFORM_NONE;
    return count * (parameter + 1) + (sum >> parameter) < 8 * count ? parameter
                                                                    : (uint32_t)CGX_UNIFORM_PLAIN;
}

/* The number of masks of all bits of codes that a form has: 0 to 15. */
CGX_QUANT uint32_t cgx_uniform_planes(uint32_t form)
{
    return form >= CGX_UNIFORM_WIDE_FORM ? form - CGX_UNIFORM_WIDE_FORM
           : form == CGX_UNIFORM_PLAIN   ? 8
           : form < CGX_UNIFORM_PLAIN    ? form
                                         : 0;
}

/* Whether a form has levels: Rice codes. */
CGX_QUANT bool cgx_uniform_has_levels(uint32_t form)
{
    return form != CGX_UNIFORM_PLAIN && form != CGX_UNIFORM_NONE;
}

/* Whether a block of KIND, which has its form among its words, may have FORM. */
CGX_QUANT bool cgx_uniform_may_have(uint32_t kind, uint32_t form)
{
    const bool is_wide = form >= CGX_UNIFORM_WIDE_FORM;

    return form < CGX_UNIFORM_FORMS && (form <= CGX_UNIFORM_NONE || form >= CGX_UNIFORM_NIBBLES) &&
           (kind == CGX_UNIFORM_SPARSE || is_wide == (kind == CGX_UNIFORM_WIDE));
}

/* An element of a raw block, with the same bits for all NaN. */
CGX_QUANT uint32_t cgx_uniform_raw(float value)
{
    return value == value ? cgx_float_bits(value) : CGX_NAN_FLOAT32;
}

#endif
