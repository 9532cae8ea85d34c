/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of rotated quantisation, one definition for every backend. A bucket of 1024
 * elements x is rotated: z = H D x, with random signs D that are new in every call and the Hadamard
 * matrix H of entries 1 and -1. The elements of z are nearly normal, whatever those of x are, and
 * are quantised with thresholds and integer levels for the normal distribution (Lloyd, Max; rotated
 * quantisation: Suresh et al. 2017; the unbiased scale: EDEN, Vargaftik et al. 2022). Ranks sum
 * rotated elements; only decoding rotates back.
 *
 * As in quant.h: float32 with IEEE rounding, FMA by name only. doc/format.md gives the order of all
 * sums. */
#ifndef CGX_CODEC_ROTATED_ROTATED_H
#define CGX_CODEC_ROTATED_ROTATED_H

#include "codec/format.h"
#include "codec/quant.h"

#define CGX_ROTATED 16          /* encodings are this + width */
#define CGX_ROTATED_WIDTHS 5    /* 1 to 5 bits */
#define CGX_ROTATED_BUCKET 1024 /* elements */

/* ---- order of elements and codes ---- */

/* In element order a bucket is 32 lanes of 32: element 128 k + 4 l + j is number 4 k + j of lane l.
 * In code order, this is the element that is number E of LANE. */
CGX_QUANT uint32_t cgx_rotated_place(uint32_t lane, uint32_t e)
{
    return (lane & 3) | (e >> 3) << 2 | (e & 7) << 4 | lane >> 2 << 7;
}

/* The codes of a bucket are WIDTH words of 32 bits per lane; word w of lane l is at 32 w + l. Each
 * word holds as many whole codes as fit, the first in the lowest bits. The spare bits above them,
 * from the first word to the last, form one string with the remaining codes. */
CGX_QUANT uint32_t cgx_rotated_per_word(uint32_t width)
{
    return 32 / width;
}

/* ---- signs ---- */

/* Bit 4 k + j: whether element 128 k + 4 LANE + j changes its sign. BUCKET: the bucket's first
 * element in the caller's buffer / 1024, modulo 2^32. */
CGX_QUANT uint32_t cgx_rotated_signs(uint32_t key, uint32_t bucket, uint32_t lane)
{
    return cgx_mix((32 * bucket + lane) * 0x9E3779B9u + key);
}

/* ---- thresholds and levels ---- */

/* For width b and K = 2^(b - 1), the code of t, an element divided by the rms, is floor(K + u
 * (alpha - beta |u|)), where u is t clamped to +-limit. It is read from the bits of a float between
 * 2048 and 4096. */
struct cgx_rotated_book {
    float alpha, beta, limit;
    float levels[1 << (CGX_ROTATED_WIDTHS - 1)]; /* of codes K and up; those below: negated */
};

CGX_QUANT struct cgx_rotated_book cgx_rotated_book(uint32_t width)
{
    const struct cgx_rotated_book books[CGX_ROTATED_WIDTHS] = {
        {1.0f, 0.0f, 0x1.fep-1f, {166}},
        {0x1.05p0f, 0.0f, 0x1.f535p0f, {74, 247}},
        {0x1.15p1f, 0x1.04p-2f, 0x1.5a43p1f, {24, 75, 134, 214}},
        {0x1.128p2f, 0x1.24p-1f, 0x1.b5238p1f, {11, 34, 59, 86, 116, 151, 192, 253}},
        {0x1.0e8p3f,
         0x1.25p0f,
         0x1.d8ae8p1f,
         {484, 1470, 2491, 3552, 4657, 5813, 7028, 8310, 9674, 11136, 12722, 14470, 16442, 18756,
          21697, 26214}},
    };

    return books[width - 1];
}

CGX_QUANT float cgx_rotated_clamp(float t, float limit) /* t is not NaN */
{
#ifdef __CUDACC__
    return fminf(fmaxf(t, -limit), limit);
#else
    return t < -limit ? -limit : t > limit ? limit : t;
#endif
}

/* Added to a code; codes of any width stay below its lowest set bit. */
#define CGX_ROTATED_BIAS 0x45400u

CGX_QUANT uint32_t cgx_rotated_biased(float t, uint32_t width, const struct cgx_rotated_book *book)
{
    float u = cgx_rotated_clamp(t, book->limit);
    float factor = book->beta == 0 ? book->alpha : cgx_fma(fabsf(u), -book->beta, book->alpha);

    return cgx_float_bits(cgx_fma(u, factor, (float)(3072 + (1 << (width - 1))))) >> 12;
}

CGX_QUANT uint32_t cgx_rotated_code(float t, uint32_t width, const struct cgx_rotated_book *book)
{
    return cgx_rotated_biased(t, width, book) - CGX_ROTATED_BIAS;
}

CGX_QUANT float cgx_rotated_level(uint32_t code, uint32_t width,
                                  const struct cgx_rotated_book *book)
{
    uint32_t half = 1u << width >> 1;

    return code >= half ? book->levels[code - half] : -book->levels[half - 1 - code];
}

/* ---- range ---- */

/* Between these two, the sums of squares of a bucket neither overflow nor underflow. Otherwise its
 * elements are multiplied by CGX_ROTATED_UP or CGX_ROTATED_DOWN first, which is exact except for
 * underflow. */
#define CGX_ROTATED_LEAST 0x1p-96f
#define CGX_ROTATED_MOST 0x1p96f
#define CGX_ROTATED_UP 0x1p96f
#define CGX_ROTATED_DOWN 0x1p-96f

/* The factor for elements whose squares add up to SQUARES; 1: none. */
CGX_QUANT float cgx_rotated_factor(float squares)
{
    return squares < CGX_ROTATED_LEAST  ? CGX_ROTATED_UP
           : squares < CGX_ROTATED_MOST ? 1.0f
                                        : CGX_ROTATED_DOWN; /* also if not finite */
}

/* ---- scale and header ---- */

CGX_QUANT float cgx_bf16_near(float value) /* positive and finite, halves to even */
{
    uint32_t bits = cgx_float_bits(value);

    return cgx_bits_float((bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u);
}

/* The rms, a bfloat16, that codes are found with; SQUARE is the mean square of the rotated
 * elements. */
CGX_QUANT float cgx_rotated_rms(float square)
{
    return cgx_bf16_near(sqrtf(square));
}

/* The step of levels, a bfloat16, that makes the mean error over the signs zero. INV: 1 / rms. A:
 * the sum over the bucket of t L, where L is the level of t. Z: the sum of squares of the rotated
 * elements. */
CGX_QUANT float cgx_rotated_step(float inv, float a, float z)
{
    return cgx_bf16_near(z * inv / a);
}

/* The header of a bucket with STEP whose elements were multiplied by FACTOR, a power of two. 0,
 * with all codes 0, if the step is too small for a bfloat16. */
CGX_QUANT uint32_t cgx_rotated_header(float step, float factor)
{
    float scale = factor == CGX_ROTATED_UP     ? step * CGX_ROTATED_DOWN
                  : factor == CGX_ROTATED_DOWN ? step * CGX_ROTATED_UP
                                               : step;

    return scale < 0x1p-126f ? 0 : cgx_float_bits(scale);
}

/* Whether an encoder may have written HEADER: a positive normal bfloat16, 0 or the poison. */
CGX_QUANT int cgx_rotated_is_header(uint32_t header)
{
    return header == 0 || header == CGX_BUCKET_POISON ||
           ((header & 0xFFFFu) == 0 && header >= 0x00800000u && header < 0x7F800000u);
}

/* Levels times a header of this size or more are rotated back with the header times
 * CGX_ROTATED_ASIDE, and the elements are then divided by that, so that only elements can
 * overflow. */
#define CGX_ROTATED_LARGE 0x1p80f
#define CGX_ROTATED_ASIDE 0x1p-40f

#endif
