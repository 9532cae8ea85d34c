/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation for processors with AVX-512 F, BW, VL and DQ, and BMI2. */

#include <immintrin.h>

#include "codec/uniform/uniform_kernels.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m512i codes;

/* The packs saturate k to a signed byte; NaN becomes -128. Beyond +-126, codes are 253 or more. */
#define TOO_LARGE 253

/* The hashes of the 16 lanes of a block, plus the lowest byte of the key in each byte. */
INLINE codes hash(const struct cgx_uniform_group *group, uint32_t block)
{
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i h = _mm512_mullo_epi32(lanes, _mm512_set1_epi32((int)0x9E3779B9u));

    h = _mm512_add_epi32(h,
                         _mm512_set1_epi32((int)(16 * block * 0x9E3779B9u + (group->key & ~255u))));
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int)0x85EBCA6Bu));
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 13));
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int)0xC2B2AE35u));
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
    return _mm512_add_epi8(h, _mm512_set1_epi8((char)group->key));
}

/* The dithers that byte QUARTER of each lane gives; all of them are exact. */
INLINE __m512 dither_of(__m512i hash, unsigned quarter)
{
    __m512i byte = _mm512_and_si512(_mm512_srli_epi32(hash, 8 * quarter), _mm512_set1_epi32(255));

    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(byte), _mm512_set1_ps(0x1p-8f),
                           _mm512_set1_ps(-255 * 0x1p-9f));
}

INLINE codes quantise(const cgx_float32 *values, float inverse, codes hash)
{
    __m512i k[4], bytes;

    for (unsigned j = 0; j < 4; j++) {
        __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(values + 16 * j), _mm512_set1_ps(inverse));

        k[j] = _mm512_cvtps_epi32(_mm512_add_ps(scaled, dither_of(hash, j)));
    }
    /* Restores the order: the packs work within 128-bit quarters. */
    bytes = _mm512_packs_epi16(_mm512_packs_epi32(k[0], k[1]), _mm512_packs_epi32(k[2], k[3]));
    bytes = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
    return _mm512_xor_si512(_mm512_add_epi8(bytes, bytes),
                            _mm512_movm_epi8(_mm512_movepi8_mask(bytes)));
}

INLINE uint32_t sum_of(codes block)
{
    return (uint32_t)_mm512_reduce_add_epi64(_mm512_sad_epu8(block, _mm512_setzero_si512()));
}

INLINE uint64_t bit_of(codes block, unsigned bit)
{
    return _mm512_test_epi8_mask(block, _mm512_set1_epi8((char)(1u << bit)));
}

INLINE uint64_t at_least(codes block, unsigned level)
{
    return _mm512_cmpge_epu8_mask(block, _mm512_set1_epi8((char)level));
}

INLINE codes none(void)
{
    return _mm512_setzero_si512();
}

INLINE codes twice(codes block, uint64_t mask)
{
    return _mm512_sub_epi8(_mm512_add_epi8(block, block), _mm512_movm_epi8(mask));
}

INLINE codes signed_by(codes block, uint64_t mask)
{
    return _mm512_xor_si512(block, _mm512_movm_epi8(mask));
}

INLINE void restore(codes k, codes hash, float step, bool add, cgx_float32 *values)
{
    const __m128i quarters[4] = {_mm512_castsi512_si128(k), _mm512_extracti32x4_epi32(k, 1),
                                 _mm512_extracti32x4_epi32(k, 2), _mm512_extracti32x4_epi32(k, 3)};

    for (unsigned j = 0; j < 4; j++) {
        __m512 code = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(quarters[j]));
        __m512 level = _mm512_mul_ps(_mm512_sub_ps(code, dither_of(hash, j)), _mm512_set1_ps(step));

        if (add)
            level = _mm512_add_ps(_mm512_loadu_ps(values + 16 * j), level);
        _mm512_storeu_ps(values + 16 * j, level);
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

INLINE uint64_t lowest(uint64_t value, unsigned count)
{
    return _bzhi_u64(value, count);
}

#define CGX_UNIFORM_SET cgx_uniform_avx512
#include "codec/uniform/uniform_kernels_body.h"
