/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The part that all sets of vector kernels for rotated encodings share and that comes before their
 * own instructions: signs, positions of codes, butterflies. A file that includes this must define
 * VECTOR and the types vector and words, of VECTOR float32 and uint32_t; rotated_kernels_body.h
 * follows. */

#include "codec/rotated/rotated_kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define GROUPS (32 / VECTOR)
#define UNROLLED _Pragma("GCC unroll 8")

/* For elements of a buffer, which may be misaligned as cgx_float32 may. */
typedef vector loose_vector __attribute__((aligned(1), may_alias));
typedef words loose_words __attribute__((aligned(4), may_alias));

INLINE void sign_words(uint32_t key, uint32_t bucket, uint32_t signs[32])
{
    for (uint32_t lane = 0; lane < 32; lane++)
        signs[lane] = cgx_rotated_signs(key, bucket, lane);
}

/* ---- codes ---- */

/* The part of code number E of a lane that is in WORD: shifted left by SHIFT, under MASK; MASK is 0
 * if WORD has no bit of it. */
struct share {
    unsigned shift;
    uint32_t mask;
};

INLINE struct share share_of(unsigned width, unsigned e, unsigned word)
{
    unsigned per_word = cgx_rotated_per_word(width), spare = 32 - per_word * width;
    unsigned whole = per_word * width; /* codes that do not span words */
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

/* Adds code number E of each lane; the code is bits 12 and up of R. */
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

/* Whether code number E completes WORD. */
INLINE bool completes(unsigned width, unsigned e, unsigned word)
{
    unsigned per_word = cgx_rotated_per_word(width);

    return per_word * width == 32 ? e == (word + 1) * per_word - 1 : e == 31;
}

/* Code number E of each lane, in the low bits. */
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

/* The stages for the bits of the vectors' indices. COUNT, the number of vectors, is a power of
 * two. */
INLINE void butterflies(vector *v, int count)
{
    UNROLLED
    for (int bit = 1; bit < count; bit *= 2)
        UNROLLED
    for (int i = 0; i < count; i++)
        if ((i & bit) == 0)
            butterfly(&v[i], &v[i | bit]);
}
