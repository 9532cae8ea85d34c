/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels for processors with AVX2, FMA and F16C. */

#include <immintrin.h>

#include "codec/host_kernels.h"

static void widen_float16(const void *elements, size_t count, float *values)
{
    const cgx_uint16 *in = elements;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(in + i))));
    for (; i < count; i++)
        values[i] = cgx_from_float16(in[i]);
}

static void narrow_float16(const float *values, size_t count, void *elements)
{
    const __m128i nan = _mm_set1_epi16(CGX_NAN_FLOAT16);
    cgx_uint16 *out = elements;
    size_t i = 0;

    for (; i + 8 <= count; i += 8) {
        __m256 x = _mm256_loadu_ps(values + i);
        __m256i unordered = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
        __m128i nans = _mm_packs_epi32(_mm256_castsi256_si128(unordered),
                                       _mm256_extracti128_si256(unordered, 1));
        __m128i half = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);

        _mm_storeu_si128((void *)(out + i), _mm_blendv_epi8(half, nan, nans));
    }
    for (; i < count; i++)
        out[i] = cgx_to_float16(values[i]);
}

static uint32_t least_lane(__m256i x)
{
    __m128i least = _mm_min_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    least = _mm_min_epu32(least, _mm_shuffle_epi32(least, 0x4E));
    least = _mm_min_epu32(least, _mm_shuffle_epi32(least, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(least);
}

static struct cgx_extremes scan(const cgx_float32 *values, size_t count)
{
    struct cgx_extremes extremes = CGX_EXTREMES_NONE;
    __m256i least = _mm256_set1_epi32((int)extremes.least), least2 = least;
    __m256i greatest = _mm256_set1_epi32((int)extremes.greatest), greatest2 = greatest;
    __m256i signed_greatest = _mm256_set1_epi32(extremes.signed_greatest);
    __m256i signed_greatest2 = signed_greatest;

    /* Two accumulators of each kind hide the latency of the instructions. */
    for (size_t i = 0; i < count; i += 16) {
        __m256i x = _mm256_loadu_si256((const void *)(values + i));
        __m256i y = _mm256_loadu_si256((const void *)(values + i + 8));

        least = _mm256_min_epu32(least, x);
        least2 = _mm256_min_epu32(least2, y);
        greatest = _mm256_max_epu32(greatest, x);
        greatest2 = _mm256_max_epu32(greatest2, y);
        signed_greatest = _mm256_max_epi32(signed_greatest, x);
        signed_greatest2 = _mm256_max_epi32(signed_greatest2, y);
    }
    least = _mm256_min_epu32(least, least2);
    greatest = _mm256_max_epu32(greatest, greatest2);
    signed_greatest = _mm256_max_epi32(signed_greatest, signed_greatest2);
    greatest = _mm256_xor_si256(greatest, _mm256_set1_epi32(-1));
    signed_greatest = _mm256_xor_si256(signed_greatest, _mm256_set1_epi32(INT32_MAX));
    extremes.least = least_lane(least);
    extremes.greatest = ~least_lane(greatest);
    extremes.signed_greatest = (int32_t)(least_lane(signed_greatest) ^ INT32_MAX);
    return extremes;
}

/* Converts integers to bytes, clamped to between 0 and LAST. */
static inline __m256i clamp_to_bytes(const __m256i k[4], __m256i last)
{
    __m256i low = _mm256_packs_epi32(k[0], k[1]), high = _mm256_packs_epi32(k[2], k[3]);
    __m256i bytes = _mm256_min_epu8(_mm256_packus_epi16(low, high), last);

    /* Restores the order: the packs work within 128-bit halves. */
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static void quantise_nearest(const cgx_float32 *values, size_t count, struct cgx_grid grid,
                             unsigned bits, uint8_t *codes)
{
    const __m256 inv = _mm256_set1_ps(grid.inv), magic = _mm256_set1_ps(0x1.8p23f);
    const __m256i zero = _mm256_set1_epi32(0x4B400000 + grid.z);
    const __m256i last = _mm256_set1_epi8((char)((1u << bits) - 1));
    __m256i k[4];

    for (size_t i = 0; i < count; i += 32) {
        for (int j = 0; j < 4; j++) {
            __m256 sum =
                _mm256_fmadd_ps(_mm256_loadu_ps((const float *)(values + i + 8 * j)), inv, magic);

            k[j] = _mm256_sub_epi32(_mm256_castps_si256(sum), zero);
        }
        _mm256_storeu_si256((void *)(codes + i), clamp_to_bytes(k, last));
    }
}

/* The random bits of elements 8 GROUP to 8 GROUP + 31, 16 bits each, in order. Each 64-bit lane
 * computes Philox for one group of 8 elements, with words in the lower halves; the upper halves are
 * not used. */
static inline void random_bits(struct cgx_random random, uint64_t group, __m256i out[2])
{
    /* With lanes in this order, the unpacks at the end leave the groups in order. */
    __m256i c0 =
        _mm256_add_epi64(_mm256_set1_epi64x((long long)group), _mm256_setr_epi64x(0, 2, 1, 3));
    __m256i c1 = _mm256_srli_epi64(c0, 32);
    __m256i c2 = _mm256_set1_epi64x(random.call), c3 = _mm256_set1_epi64x(random.stream);
    uint32_t k0 = (uint32_t)random.seed, k1 = (uint32_t)(random.seed >> 32);

    for (int round = 0; round < 7; round++) {
        __m256i p0 = _mm256_mul_epu32(c0, _mm256_set1_epi64x(0xD2511F53));
        __m256i p1 = _mm256_mul_epu32(c2, _mm256_set1_epi64x(0xCD9E8D57));

        c0 = _mm256_xor_si256(_mm256_srli_epi64(p1, 32),
                              _mm256_xor_si256(c1, _mm256_set1_epi64x(k0)));
        c2 = _mm256_xor_si256(_mm256_srli_epi64(p0, 32),
                              _mm256_xor_si256(c3, _mm256_set1_epi64x(k1)));
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    c0 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    c2 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    out[0] = _mm256_unpacklo_epi64(c0, c2);
    out[1] = _mm256_unpackhi_epi64(c0, c2);
}

static void quantise_stochastic(const cgx_float32 *values, size_t count, struct cgx_grid grid,
                                unsigned bits, struct cgx_random random, uint8_t *codes)
{
    const __m256 inv = _mm256_set1_ps(grid.inv);
    const __m256i zero = _mm256_set1_epi32(grid.z);
    const __m256i last = _mm256_set1_epi8((char)((1u << bits) - 1));
    __m256i halves[2], k[4];

    for (size_t i = 0; i < count; i += 32) {
        random_bits(random, random.group + i / 8, halves);
        for (int j = 0; j < 4; j++) {
            __m128i half = j % 2 == 0 ? _mm256_castsi256_si128(halves[j / 2])
                                      : _mm256_extracti128_si256(halves[j / 2], 1);
            __m256i odd = _mm256_add_epi32(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 1),
                                           _mm256_set1_epi32(1));
            __m256 r = _mm256_mul_ps(_mm256_cvtepi32_ps(odd), _mm256_set1_ps(0x1p-17f));
            __m256 sum =
                _mm256_fmadd_ps(_mm256_loadu_ps((const float *)(values + i + 8 * j)), inv, r);

            k[j] = _mm256_sub_epi32(_mm256_cvttps_epi32(_mm256_floor_ps(sum)), zero);
        }
        _mm256_storeu_si256((void *)(codes + i), clamp_to_bytes(k, last));
    }
}

#define CGX_HOST_SET(prefix) prefix##avx2
#define CGX_HOST_NAME "avx2"
#include "codec/host_kernels_body.h"
