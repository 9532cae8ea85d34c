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

static void quantise(const cgx_float32 *values, size_t count, struct cgx_grid grid, unsigned bits,
                     uint8_t *codes)
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

#define CGX_HOST_SET(prefix) prefix##avx512
#define CGX_HOST_NAME "avx512"
#include "codec/host_kernels_body.h"
