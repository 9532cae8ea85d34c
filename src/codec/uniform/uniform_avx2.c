/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation for processors with AVX2 and BMI2. */

#include <immintrin.h>

#include "codec/uniform/uniform_kernels.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    __m256i half[2];
} codes;

/* What is beyond a byte is saturated, and NaN becomes the least. */
#define TOO_LARGE 253

/* For lanes FIRST to FIRST + 7 of a block. */
INLINE __m256i hash(const struct cgx_uniform_group *group, uint32_t block, uint32_t first)
{
    __m256i h = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                 _mm256_set1_epi32((int)(16 * block + first)));

    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0x9E3779B9u));
    h = _mm256_add_epi32(h, _mm256_set1_epi32((int)group->key));
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0x85EBCA6Bu));
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 13));
    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0xC2B2AE35u));
    return _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
}

/* Exact, in whatever order it is computed. */
INLINE __m256 dither_of(__m256i hash, unsigned quarter)
{
    __m256i byte =
        _mm256_and_si256(_mm256_srli_epi32(hash, (int)(8 * quarter)), _mm256_set1_epi32(255));

    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(byte), _mm256_set1_ps(0x1p-8f),
                           _mm256_set1_ps(-255 * 0x1p-9f));
}

INLINE __m256i quantise8(const cgx_float32 *values, __m256 inverse, __m256 dither)
{
    __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps((const float *)values), inverse);

    return _mm256_cvtps_epi32(_mm256_add_ps(scaled, dither));
}

INLINE codes quantise(const struct cgx_uniform_group *group, uint32_t block,
                      const cgx_float32 *values)
{
    const __m256 inverse = _mm256_set1_ps(group->inverse);
    const __m256i h[2] = {hash(group, block, 0), hash(group, block, 8)};
    codes result;

    for (unsigned i = 0; i < 2; i++) {
        __m256i k[4], bytes;

        for (unsigned j = 0; j < 4; j++)
            k[j] = quantise8(values + 32 * i + 8 * j, inverse, dither_of(h[j % 2], 2 * i + j / 2));
        /* The packs keep to the 128-bit halves of their operands. */
        bytes = _mm256_packs_epi16(_mm256_packs_epi32(k[0], k[1]), _mm256_packs_epi32(k[2], k[3]));
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        result.half[i] = _mm256_xor_si256(_mm256_add_epi8(bytes, bytes),
                                          _mm256_cmpgt_epi8(_mm256_setzero_si256(), bytes));
    }
    return result;
}

INLINE uint32_t sum_of(codes block)
{
    __m256i sums = _mm256_add_epi64(_mm256_sad_epu8(block.half[0], _mm256_setzero_si256()),
                                    _mm256_sad_epu8(block.half[1], _mm256_setzero_si256()));
    __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

    return (uint32_t)(_mm_cvtsi128_si32(pair) + _mm_extract_epi32(pair, 2));
}

/* Of the highest bits of bytes. */
INLINE uint64_t mask_of(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

INLINE uint64_t bit_of(codes block, unsigned bit)
{
    return mask_of(_mm256_slli_epi16(block.half[0], (int)(7 - bit)),
                   _mm256_slli_epi16(block.half[1], (int)(7 - bit)));
}

INLINE __m256i shifted_half(__m256i half, unsigned by)
{
    return _mm256_and_si256(_mm256_srli_epi16(half, (int)by), _mm256_set1_epi8((char)(255u >> by)));
}

INLINE codes shifted(codes block, unsigned by)
{
    return (codes){{shifted_half(block.half[0], by), shifted_half(block.half[1], by)}};
}

INLINE uint64_t at_least(codes block, unsigned level)
{
    const __m256i least = _mm256_set1_epi8((char)level);

    return mask_of(_mm256_cmpeq_epi8(_mm256_max_epu8(block.half[0], least), block.half[0]),
                   _mm256_cmpeq_epi8(_mm256_max_epu8(block.half[1], least), block.half[1]));
}

INLINE codes none(void)
{
    return (codes){{_mm256_setzero_si256(), _mm256_setzero_si256()}};
}

/* VALUE in the bytes that MASK has a bit for. */
INLINE __m256i spread(uint32_t mask, unsigned value)
{
    const __m256i bytes =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bits = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32((int)mask), bytes);

    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(all, bits), bits),
                            _mm256_set1_epi8((char)value));
}

INLINE codes with(codes block, uint64_t mask, unsigned value)
{
    return (codes){{_mm256_add_epi8(block.half[0], spread((uint32_t)mask, value)),
                    _mm256_add_epi8(block.half[1], spread((uint32_t)(mask >> 32), value))}};
}

INLINE void restore8(__m128i k, __m256 dither, __m256 step, bool add, cgx_float32 *values)
{
    __m256 code = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(k));
    __m256 level = _mm256_mul_ps(_mm256_sub_ps(code, dither), step);

    if (add)
        level = _mm256_add_ps(_mm256_loadu_ps((const float *)values), level);
    _mm256_storeu_ps((float *)values, level);
}

INLINE void restore(const struct cgx_uniform_group *group, uint32_t block, codes of, bool add,
                    cgx_float32 *values)
{
    const __m256 step = _mm256_set1_ps(group->step);
    const __m256i h[2] = {hash(group, block, 0), hash(group, block, 8)};
    const __m256i one = _mm256_set1_epi8(1);

    for (unsigned i = 0; i < 2; i++) {
        __m256i odd = _mm256_cmpeq_epi8(_mm256_and_si256(of.half[i], one), one);
        __m256i k = _mm256_xor_si256(shifted_half(of.half[i], 1), odd);
        __m128i sixteen[2] = {_mm256_castsi256_si128(k), _mm256_extracti128_si256(k, 1)};

        for (unsigned j = 0; j < 4; j++)
            restore8(j % 2 == 0 ? sixteen[j / 2] : _mm_srli_si128(sixteen[j / 2], 8),
                     dither_of(h[j % 2], 2 * i + j / 2), step, add, values + 32 * i + 8 * j);
    }
}

INLINE uint64_t extract(uint64_t value, uint64_t mask)
{
    return _pext_u64(value, mask);
}

INLINE uint64_t deposit(uint64_t value, uint64_t mask)
{
    return _pdep_u64(value, mask);
}

#define CGX_UNIFORM_SET cgx_uniform_avx2
#include "codec/uniform/uniform_kernels_body.h"
