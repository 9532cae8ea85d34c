/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "allreduce_half.h"

#include <math.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

/* Eight at a time, where the processor can; all that have AVX2 convert halves too. */
__attribute__((target("avx,f16c"))) static size_t sum_eights(uint16_t *sum, const uint16_t *more,
                                                             size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m128i *place = (__m128i *)(void *)(sum + i);
        __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(place));
        __m256 y = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(more + i)));

        _mm_storeu_si128(place, _mm256_cvtps_ph(_mm256_add_ps(x, y), _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

static size_t sum_many(uint16_t *sum, const uint16_t *more, size_t n)
{
    return __builtin_cpu_supports("avx2") ? sum_eights(sum, more, n) : 0;
}
#else
static size_t sum_many(uint16_t *sum, const uint16_t *more, size_t n)
{
    (void)sum, (void)more, (void)n;
    return 0;
}
#endif

static float to_float(uint16_t half)
{
    uint32_t exponent = half >> 10 & 31, fraction = half & 1023, bits;
    float value = (float)fraction * 0x1p-24F;

    if (exponent > 0) {
        bits = (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
        memcpy(&value, &bits, sizeof value);
    }
    return half & 0x8000 ? -value : value;
}

static uint16_t to_half(float value)
{
    float small = fabsf(value) + 0.5F; /* rounds to multiples of 2^-24 below 1 */
    uint32_t bits, rounded, magnitude;

    memcpy(&bits, &value, sizeof bits);
    magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        rounded = 0x7e00;
    } else if (magnitude >= 0x477ff000) {
        rounded = 0x7c00;
    } else if (magnitude < 0x38800000) {
        memcpy(&rounded, &small, sizeof rounded);
        rounded -= 0x3f000000;
    } else {
        rounded = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
    }
    return (uint16_t)((bits >> 16 & 0x8000) | rounded);
}

void half_from_floats(uint16_t *halves, const float *floats, size_t n)
{
    for (size_t i = 0; i < n; i++)
        halves[i] = to_half(floats[i]);
}

void half_sum(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const uint16_t *more = in;
    uint16_t *sum = inout;
    size_t n = (size_t)*count;

    (void)datatype;
    for (size_t i = sum_many(sum, more, n); i < n; i++)
        sum[i] = to_half(to_float(sum[i]) + to_float(more[i]));
}
