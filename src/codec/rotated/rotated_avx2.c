/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of rotated encodings for processors with AVX2, FMA and F16C. */

#include <immintrin.h>
#include <stdint.h>

#define VECTOR 8

typedef float vector __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));

#include "codec/rotated/rotated_vectors.h"

#define SIGN 0x80000000u

INLINE vector fma_of(vector x, vector y, vector z)
{
    return _mm256_fmadd_ps(x, y, z);
}

INLINE vector magnitude(vector x)
{
    return (vector)((words)x & ~SIGN);
}

INLINE vector clamp(vector t, float limit)
{
    return _mm256_max_ps(_mm256_min_ps(t, _mm256_set1_ps(limit)), _mm256_set1_ps(-limit));
}

/* ---- levels ---- */

/* Up to 3 bits, LOW has the levels of all codes, repeated to fill the vector. With 4 or 5 bits, LOW
 * has the levels of codes 0 to 7 and HIGH, with 5 bits, of codes 8 to 15: the lower half of the
 * codes, with negative levels. The upper half has the same levels with the other sign, in reverse
 * order. */
struct table {
    vector low, high;
};

INLINE struct table table_of(unsigned width, float step)
{
    const struct cgx_rotated_book book = cgx_rotated_book(width);
    struct table table;

    for (uint32_t code = 0; code < VECTOR; code++) {
        table.low[code] = cgx_rotated_level(code & ((1u << width) - 1), width, &book);
        table.high[code] = width < 5 ? 0 : cgx_rotated_level(VECTOR + code, width, &book);
    }
    table.low *= step;
    table.high *= step;
    return table;
}

/* Inverts all bits of codes in the upper half: their lower bits become the place of the negated
 * level. */
INLINE words mirrored(words code, unsigned width)
{
    typedef int32_t integers __attribute__((vector_size(32)));

    return code ^ (words)((integers)(code << (32 - width)) >> 31);
}

INLINE vector look_up(const struct table *table, unsigned width, words code)
{
    words place, sign;
    vector level;

    if (width <= 3)
        return _mm256_permutevar8x32_ps(table->low, (__m256i)code);
    place = mirrored(code, width);
    sign = code << (32 - width) & SIGN;
    level = _mm256_permutevar8x32_ps(table->low, (__m256i)place);
    if (width == 5)
        level = _mm256_blendv_ps(level, _mm256_permutevar8x32_ps(table->high, (__m256i)place),
                                 (vector)(place << 28));
    return (vector)((words)level ^ sign);
}

/* In a word of 4-bit codes, inverts the bits of codes in the upper half except the highest bit. */
INLINE words arrange(words w, unsigned width)
{
    words high = w & 0x88888888u;

    return width == 4 ? w ^ (high - (high >> 3)) : w;
}

INLINE vector look_up_arranged(const struct table *table, unsigned width, words code)
{
    vector level;

    if (width <= 3)
        return look_up(table, width, code);
    level = _mm256_permutevar8x32_ps(table->low, (__m256i)code);
    return (vector)((words)level ^ (code << 28 & SIGN));
}

INLINE float over_lanes(const vector *lanes)
{
    __m256 eight = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);

    four += _mm_movehl_ps(four, four);
    return four[0] + four[1];
}

/* ---- rotation ---- */

/* The stages of bits 0 and 1 of element numbers, which are inside a 128-bit half. */
INLINE vector butterflies_in_halves(vector x)
{
    const vector first = {1, -1, 1, -1, 1, -1, 1, -1}, second = {1, 1, -1, -1, 1, 1, -1, -1};

    x = fma_of(x, first, _mm256_permute_ps(x, 0xB1));
    return fma_of(x, second, _mm256_permute_ps(x, 0x4E));
}

/* Swaps half 1 of A with half 0 of B. */
INLINE void transpose_halves(vector *a, vector *b)
{
    vector low = _mm256_permute2f128_ps(*a, *b, 0x20);

    *b = _mm256_permute2f128_ps(*a, *b, 0x31);
    *a = low;
}

/* The signs of elements 128 k + 8 M to 128 k + 8 M + 7: for k = 7 in the highest bit, for each
 * smaller k 4 bits lower. */
INLINE words signs_of(const uint32_t *signs, size_t m)
{
    const words shifts = {3, 2, 1, 0, 3, 2, 1, 0};
    const __m256i lanes = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    __m256i two = _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(signs + 2 * m)));

    return (words)_mm256_permutevar8x32_epi32(two, lanes) << shifts;
}

INLINE vector with_sign(vector x, words signs, unsigned k)
{
    return (vector)((words)x ^ (signs << (28 - 4 * k) & SIGN));
}

/* Distances in vectors that set bit 2 or 3 of element numbers, which is bit 3 or 4 of e. */
#define BIT_2 8
#define BIT_3 16

/* Where the vector of column M is whose element numbers have P as bits 8 and 9, and bit 2 clear.
 * Whoever loads vectors does the stage of bit 3, the lowest bit of M. */
INLINE float *place_of(float *rotated, size_t m, size_t p)
{
    return rotated + VECTOR * (32 * p + BIT_3 * (m & 1) + (m >> 1));
}

/* The number of a column is bits 3 to 6 of element numbers, the number of its half is bit 2. */
INLINE float sum_of_columns(const vector columns[16])
{
    float sums[2];

    for (int bit = 0; bit < 2; bit++) { /* bit 3 */
        vector lanes[8], sum;

        for (int i = 0; i < 8; i++) {
            vector column = columns[2 * i + bit];

            lanes[i] = column + (vector)_mm256_permute_ps(column, 0xB1);
            lanes[i] += (vector)_mm256_permute_ps(lanes[i], 0x4E);
        }
        sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
              ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
        sums[bit] = sum[0] + sum[4];
    }
    return sums[0] + sums[1];
}

INLINE float rotate_by(const cgx_float32 *values, bool scaled, float factor,
                       const uint32_t signs[32], float *rotated)
{
    vector columns[16];

    for (size_t m = 0; m < 16; m++) {
        words flipped = signs_of(signs, m);
        vector v[8], squares = {0};

        UNROLLED
        for (unsigned k = 0; k < 8; k++) {
            vector x = *(const loose_vector *)(values + 128 * k + VECTOR * m);

            if (scaled)
                x *= factor;
            squares = fma_of(x, x, squares);
            v[k] = with_sign(x, flipped, k);
        }
        columns[m] = squares;
        butterflies(v, 8);
        UNROLLED
        for (unsigned i = 0; i < 8; i++)
            v[i] = butterflies_in_halves(v[i]);
        UNROLLED
        for (size_t p = 0; p < 4; p++) {
            vector *at = (vector *)place_of(rotated, m, p);

            transpose_halves(&v[2 * p], &v[2 * p + 1]);
            butterfly(&v[2 * p], &v[2 * p + 1]);
            at[0] = v[2 * p];
            at[BIT_2] = v[2 * p + 1];
        }
    }
    return sum_of_columns(columns);
}

INLINE void load_incomplete(const float *values, size_t g, unsigned q, vector v[8])
{
    const vector *at = (const vector *)(values + VECTOR * (32 * g + 8 * (q & 1)));

    UNROLLED
    for (unsigned i = 0; i < 8; i++)
        v[i] = q < 2 ? at[i] + at[i + BIT_3] : at[i] - at[i + BIT_3];
}

INLINE void rotate_back(float *rotated, const uint32_t signs[32], cgx_float32 *values)
{
    for (size_t m = 0; m < 16; m++) {
        words flipped = signs_of(signs, m);
        vector v[8];

        UNROLLED
        for (size_t p = 0; p < 4; p++) {
            const vector *at = (const vector *)place_of(rotated, m & ~(size_t)1, p);
            vector a = at[0], b = at[BIT_2], c = at[BIT_3], d = at[BIT_2 + BIT_3];

            butterfly(&a, &b);
            butterfly(&c, &d);
            v[2 * p] = m & 1 ? a - c : a + c;
            v[2 * p + 1] = m & 1 ? b - d : b + d;
            transpose_halves(&v[2 * p], &v[2 * p + 1]);
        }
        UNROLLED
        for (unsigned i = 0; i < 8; i++)
            v[i] = butterflies_in_halves(v[i]);
        butterflies(v, 8);
        UNROLLED
        for (unsigned k = 0; k < 8; k++)
            *(loose_vector *)(values + 128 * k + VECTOR * m) = with_sign(v[k], flipped, k);
    }
}

#define CGX_ROTATED_SET cgx_rotated_avx2
#include "codec/rotated/rotated_kernels_body.h"
