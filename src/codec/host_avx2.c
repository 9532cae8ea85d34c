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

/* Converts integers to bytes, limited to 0 and LAST. */
static inline __m256i clamp_to_bytes(const __m256i k[4], __m256i last)
{
    __m256i low = _mm256_packs_epi32(k[0], k[1]), high = _mm256_packs_epi32(k[2], k[3]);
    __m256i bytes = _mm256_min_epu8(_mm256_packus_epi16(low, high), last);

    /* The packs work within 128-bit halves, so the order must be restored. */
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static void quantise_codes(const cgx_float32 *values, size_t count, struct cgx_grid grid,
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

#define CGX_HOST_SET(prefix) prefix##avx2
#define CGX_HOST_NAME "avx2"
#include "codec/host_kernels_body.h"

const struct cgx_codec cgx_host_avx2_shifts = {
    .name = "avx2-shifts",
    .kernels = {HOST_KERNELS, .uniform = &cgx_uniform_avx2_shifts},
};
