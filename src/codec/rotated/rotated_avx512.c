/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of rotated encodings for processors with AVX-512 F, BW, VL and DQ. */

#include <immintrin.h>
#include <stdint.h>

#define VECTOR 16

typedef float vector __attribute__((vector_size(64)));
typedef uint32_t words __attribute__((vector_size(64)));

#include "codec/rotated/rotated_vectors.h"

INLINE vector fma_of(vector x, vector y, vector z)
{
    return _mm512_fmadd_ps(x, y, z);
}

INLINE vector magnitude(vector x)
{
    return _mm512_abs_ps(x);
}

INLINE vector clamp(vector t, float limit)
{
    return _mm512_range_ps(t, _mm512_set1_ps(limit), 2); /* lesser magnitude, sign of t */
}

/* ---- levels ---- */

struct table {
    vector low, high; /* HIGH: levels of codes from 16 on */
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

INLINE vector look_up(const struct table *table, unsigned width, words code)
{
    if (width < 5)
        return _mm512_permutexvar_ps((__m512i)code, table->low);
    return _mm512_permutex2var_ps(table->low, (__m512i)code, table->high);
}

INLINE words arrange(words w, unsigned width)
{
    (void)width;
    return w;
}

INLINE vector look_up_arranged(const struct table *table, unsigned width, words code)
{
    return look_up(table, width, code);
}

INLINE float over_lanes(const vector *lanes)
{
    __m512 sixteen = lanes[0] + lanes[1];
    __m256 eight = _mm512_castps512_ps256(sixteen) + _mm512_extractf32x8_ps(sixteen, 1);
    __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);

    four += _mm_movehl_ps(four, four);
    return four[0] + four[1];
}

/* ---- rotation ---- */

/* The stages of bits 0 and 1 of element numbers, which are inside a 128-bit quarter. */
INLINE vector butterflies_in_quarters(vector x)
{
    const vector first = {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1};
    const vector second = {1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1};

    x = fma_of(x, first, _mm512_permute_ps(x, 0xB1));
    return fma_of(x, second, _mm512_permute_ps(x, 0x4E));
}

/* Swaps quarter i of vector j with quarter j of vector i, for all i and j. */
INLINE void transpose_quarters(vector v[4])
{
    vector a = _mm512_shuffle_f32x4(v[0], v[1], 0x44), b = _mm512_shuffle_f32x4(v[0], v[1], 0xEE);
    vector c = _mm512_shuffle_f32x4(v[2], v[3], 0x44), d = _mm512_shuffle_f32x4(v[2], v[3], 0xEE);

    v[0] = _mm512_shuffle_f32x4(a, c, 0x88);
    v[1] = _mm512_shuffle_f32x4(a, c, 0xDD);
    v[2] = _mm512_shuffle_f32x4(b, d, 0x88);
    v[3] = _mm512_shuffle_f32x4(b, d, 0xDD);
}

/* The signs of elements 128 k + 16 M to 128 k + 16 M + 15: for k = 7 in the highest bit, for each
 * smaller k 4 bits lower. */
INLINE words signs_of(const uint32_t *signs, size_t m)
{
    const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const words shifts = {3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0};
    __m512i four = _mm512_castsi128_si512(_mm_load_si128((const __m128i *)(signs + 4 * m)));

    return (words)_mm512_permutexvar_epi32(lanes, four) << shifts;
}

INLINE vector with_sign(vector x, words signs, unsigned k)
{
    return (vector)((words)x ^ (signs << (28 - 4 * k) & 0x80000000u));
}

/* Where vector I of column M is. Bits 0 and 1 of I are bits 2 and 3 of element numbers; bit 2 of I
 * is bit 9. */
INLINE float *place_of(float *rotated, size_t m, unsigned i)
{
    return rotated + VECTOR * (32 * (i >> 2) + 8 * (i & 3) + m);
}

INLINE float sum_of_columns(const vector columns[8])
{
    vector lanes[8], sum;

    for (int m = 0; m < 8; m++) {
        lanes[m] = columns[m] + (vector)_mm512_permute_ps(columns[m], 0xB1);
        lanes[m] += (vector)_mm512_permute_ps(lanes[m], 0x4E);
    }
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    sum += (vector)_mm512_shuffle_f32x4(sum, sum, 0xB1);
    return sum[0] + sum[8];
}

INLINE float rotate_by(const cgx_float32 *values, bool scaled, float factor,
                       const uint32_t signs[32], float *rotated)
{
    vector columns[8];

    for (size_t m = 0; m < 8; m++) {
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
            v[i] = butterflies_in_quarters(v[i]);
        transpose_quarters(v);
        transpose_quarters(v + 4);
        butterflies(v, 4);
        butterflies(v + 4, 4);
        UNROLLED
        for (unsigned i = 0; i < 8; i++)
            *(vector *)place_of(rotated, m, i) = v[i];
    }
    return sum_of_columns(columns);
}

INLINE void load_incomplete(const float *values, size_t g, unsigned q, vector v[8])
{
    UNROLLED
    for (unsigned i = 0; i < 8; i++)
        v[i] = *(const vector *)(values + VECTOR * (32 * g + 8 * q + i));
}

INLINE void rotate_back(float *rotated, const uint32_t signs[32], cgx_float32 *values)
{
    for (size_t m = 0; m < 8; m++) {
        words flipped = signs_of(signs, m);
        vector v[8];

        UNROLLED
        for (unsigned i = 0; i < 8; i++)
            v[i] = *(const vector *)place_of(rotated, m, i);
        butterflies(v, 4);
        butterflies(v + 4, 4);
        transpose_quarters(v);
        transpose_quarters(v + 4);
        UNROLLED
        for (unsigned i = 0; i < 8; i++)
            v[i] = butterflies_in_quarters(v[i]);
        butterflies(v, 8);
        UNROLLED
        for (unsigned k = 0; k < 8; k++)
            *(loose_vector *)(values + 128 * k + VECTOR * m) = with_sign(v[k], flipped, k);
    }
}

#define CGX_ROTATED_SET cgx_rotated_avx512
#include "codec/rotated/rotated_kernels_body.h"
