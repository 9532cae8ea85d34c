/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What sets of vector kernels for rotated encodings have in common before the instructions of each:
 * signs, places of codes, butterflies. A file that includes this has defined VECTOR, and the types
 * vector and words of as many float32 and uint32_t; it goes on with rotated_kernels_body.h. */

#include "codec/rotated/rotated_kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define GROUPS (32 / VECTOR)
#define UNROLLED _Pragma("GCC unroll 8")

/* Elements of a buffer, like cgx_float32, may lie anywhere. */
typedef vector loose_vector __attribute__((aligned(1), may_alias));
typedef words loose_words __attribute__((aligned(4), may_alias));

INLINE void sign_words(uint32_t key, uint32_t bucket, uint32_t signs[32])
{
    for (uint32_t lane = 0; lane < 32; lane++)
        signs[lane] = cgx_rotated_signs(key, bucket, lane);
}

/* ---- codes ---- */

/* How a code of WIDTH bits, number E of its lane, goes into WORD: shifted left by so many bits,
 * under MASK, which is 0 if it does not. */
struct share {
    unsigned shift;
    uint32_t mask;
};

INLINE struct share share_of(unsigned width, unsigned e, unsigned word)
{
    unsigned per_word = cgx_rotated_per_word(width), spare = 32 - per_word * width;
    unsigned whole = per_word * width; /* codes that are in one word */
    uint32_t all = (1u << width) - 1;
    struct share share;

    if (e < whole)
        return e / per_word == word
                   ? (struct share){e % per_word * width, all << e % per_word * width}
                   : (struct share){0, 0};
    if (spare * word >= (e + 1 - whole) * width || spare * (word + 1) <= (e - whole) * width)
        return (struct share){0, 0};
    share.shift = whole + (e - whole) * width - spare * word;
    share.mask = (uint32_t)((uint64_t)all << share.shift) & ~0u << whole;
    return share;
}

/* Adds code number E of each lane: bits 12 and up of R. */
INLINE void put(unsigned width, unsigned e, words r, words *w)
{
    UNROLLED
    for (unsigned word = 0; word < width; word++) {
        struct share share = share_of(width, e, word);
        words moved = share.shift >= 12 ? r << (share.shift - 12) : r >> (12 - share.shift);

        if (share.mask != 0)
            w[word] |= moved & share.mask;
    }
}

/* Whether WORD is complete with code number E, and not before. */
INLINE bool completes(unsigned width, unsigned e, unsigned word)
{
    unsigned per_word = cgx_rotated_per_word(width);

    return per_word * width == 32 ? e == (word + 1) * per_word - 1 : e == 31;
}

/* Code number E of each lane, in the lowest bits. */
INLINE words get(unsigned width, unsigned e, const words *w)
{
    unsigned per_word = cgx_rotated_per_word(width);
    words code = {0};

    if (e < per_word * width)
        return w[e / per_word] >> (e % per_word * width);
    UNROLLED
    for (unsigned word = 0; word < width; word++) {
        struct share share = share_of(width, e, word);

        if (share.mask != 0)
            code |= (w[word] & share.mask) >> share.shift;
    }
    return code;
}

/* ---- butterflies ---- */

INLINE void butterfly(vector *a, vector *c)
{
    vector difference = *a - *c;

    *a += *c;
    *c = difference;
}

/* The stages of the bits of the vectors' numbers, COUNT vectors, a power of two. */
INLINE void butterflies(vector *v, int count)
{
    UNROLLED
    for (int bit = 1; bit < count; bit *= 2)
        UNROLLED
    for (int i = 0; i < count; i++)
        if ((i & bit) == 0)
            butterfly(&v[i], &v[i | bit]);
}
