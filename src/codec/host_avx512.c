/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels for processors with AVX-512 F, BW, VL and DQ. */

#include <immintrin.h>

#include "codec/host_kernels.h"

static void widen_float16(const void *elements, size_t count, float *values)
{
    const cgx_uint16 *in = elements;
    size_t i = 0;

    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(values + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(in + i))));
    for (; i < count; i++)
        values[i] = cgx_from_float16(in[i]);
}

static void narrow_float16(const float *values, size_t count, void *elements)
{
    const __m256i nan = _mm256_set1_epi16(CGX_NAN_FLOAT16);
    cgx_uint16 *out = elements;
    size_t i = 0;

    for (; i + 16 <= count; i += 16) {
        __m512 x = _mm512_loadu_ps(values + i);
        __mmask16 nans = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        __m256i half = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);

        _mm256_storeu_si256((void *)(out + i), _mm256_mask_mov_epi16(half, nans, nan));
    }
    for (; i < count; i++)
        out[i] = cgx_to_float16(values[i]);
}

static struct cgx_extremes scan(const cgx_float32 *values, size_t count)
{
    struct cgx_extremes extremes = CGX_EXTREMES_NONE;
    __m512i least = _mm512_set1_epi32((int)extremes.least), least2 = least;
    __m512i greatest = _mm512_set1_epi32((int)extremes.greatest), greatest2 = greatest;
    __m512i signed_greatest = _mm512_set1_epi32(extremes.signed_greatest);
    __m512i signed_greatest2 = signed_greatest;

    /* Two accumulators of each kind hide the latency of the instructions. */
    for (size_t i = 0; i < count; i += 32) {
        __m512i x = _mm512_loadu_si512(values + i);
        __m512i y = _mm512_loadu_si512(values + i + 16);

        least = _mm512_min_epu32(least, x);
        least2 = _mm512_min_epu32(least2, y);
        greatest = _mm512_max_epu32(greatest, x);
        greatest2 = _mm512_max_epu32(greatest2, y);
        signed_greatest = _mm512_max_epi32(signed_greatest, x);
        signed_greatest2 = _mm512_max_epi32(signed_greatest2, y);
    }
    least = _mm512_min_epu32(least, least2);
    greatest = _mm512_max_epu32(greatest, greatest2);
    signed_greatest = _mm512_max_epi32(signed_greatest, signed_greatest2);
    extremes.least = _mm512_reduce_min_epu32(least);
    extremes.greatest = _mm512_reduce_max_epu32(greatest);
    extremes.signed_greatest = _mm512_reduce_max_epi32(signed_greatest);
    return extremes;
}

/* Converts integers to bytes, clamped to between 0 and LAST. */
static inline __m512i clamp_to_bytes(const __m512i k[4], __m512i last)
{
    __m512i low = _mm512_packs_epi32(k[0], k[1]), high = _mm512_packs_epi32(k[2], k[3]);
    __m512i bytes = _mm512_min_epu8(_mm512_packus_epi16(low, high), last);

    /* Restores the order: the packs work within 128-bit quarters. */
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

static void quantise_nearest(const cgx_float32 *values, size_t count, struct cgx_grid grid,
                             unsigned bits, uint8_t *codes)
{
    const __m512 inv = _mm512_set1_ps(grid.inv), magic = _mm512_set1_ps(0x1.8p23f);
    const __m512i zero = _mm512_set1_epi32(0x4B400000 + grid.z);
    const __m512i last = _mm512_set1_epi8((char)((1u << bits) - 1));
    __m512i k[4];

    for (size_t i = 0; i < count; i += 64) {
        for (int j = 0; j < 4; j++) {
            __m512 sum = _mm512_fmadd_ps(_mm512_loadu_ps(values + i + 16 * j), inv, magic);

            k[j] = _mm512_sub_epi32(_mm512_castps_si512(sum), zero);
        }
        _mm512_storeu_si512(codes + i, clamp_to_bytes(k, last));
    }
}

/* The random bits of elements 8 GROUP to 8 GROUP + 63, 16 bits each, in order. Each 64-bit lane
 * computes Philox for one group of 8 elements, with words in the lower halves; the upper halves are
 * not used. */
static inline void random_bits(struct cgx_random random, uint64_t group, __m512i out[2])
{
    /* With lanes in this order, the unpacks at the end leave the groups in order. */
    __m512i c0 = _mm512_add_epi64(_mm512_set1_epi64((long long)group),
                                  _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
    __m512i c1 = _mm512_srli_epi64(c0, 32);
    __m512i c2 = _mm512_set1_epi64(random.call), c3 = _mm512_set1_epi64(random.stream);
    uint32_t k0 = (uint32_t)random.seed, k1 = (uint32_t)(random.seed >> 32);

    for (int round = 0; round < 7; round++) {
        __m512i p0 = _mm512_mul_epu32(c0, _mm512_set1_epi64(0xD2511F53));
        __m512i p1 = _mm512_mul_epu32(c2, _mm512_set1_epi64(0xCD9E8D57));

        c0 = _mm512_xor_si512(_mm512_srli_epi64(p1, 32),
                              _mm512_xor_si512(c1, _mm512_set1_epi64(k0)));
        c2 = _mm512_xor_si512(_mm512_srli_epi64(p0, 32),
                              _mm512_xor_si512(c3, _mm512_set1_epi64(k1)));
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    c0 = _mm512_mask_blend_epi32(0xAAAA, c0, _mm512_slli_epi64(c1, 32));
    c2 = _mm512_mask_blend_epi32(0xAAAA, c2, _mm512_slli_epi64(c3, 32));
    out[0] = _mm512_unpacklo_epi64(c0, c2);
    out[1] = _mm512_unpackhi_epi64(c0, c2);
}

static void quantise_stochastic(const cgx_float32 *values, size_t count, struct cgx_grid grid,
                                unsigned bits, struct cgx_random random, uint8_t *codes)
{
    const __m512 inv = _mm512_set1_ps(grid.inv);
    const __m512i zero = _mm512_set1_epi32(grid.z);
    const __m512i last = _mm512_set1_epi8((char)((1u << bits) - 1));
    __m512i halves[2], k[4];

    for (size_t i = 0; i < count; i += 64) {
        random_bits(random, random.group + i / 8, halves);
        for (int j = 0; j < 4; j++) {
            __m256i half = j % 2 == 0 ? _mm512_castsi512_si256(halves[j / 2])
                                      : _mm512_extracti64x4_epi64(halves[j / 2], 1);
            __m512i odd = _mm512_add_epi32(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 1),
                                           _mm512_set1_epi32(1));
            __m512 r = _mm512_mul_ps(_mm512_cvtepi32_ps(odd), _mm512_set1_ps(0x1p-17f));
            __m512 sum = _mm512_fmadd_ps(_mm512_loadu_ps(values + i + 16 * j), inv, r);
            __m512i floor =
                _mm512_cvt_roundps_epi32(sum, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);

            k[j] = _mm512_sub_epi32(floor, zero);
        }
        _mm512_storeu_si512(codes + i, clamp_to_bytes(k, last));
    }
}

#define CGX_HOST_SET(prefix) prefix##avx512
#define CGX_HOST_NAME "avx512"
#include "codec/host_kernels_body.h"
