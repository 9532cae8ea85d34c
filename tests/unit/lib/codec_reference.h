/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Max-min quantisation and history once more, slowly and straight from doc/format.md: bit by bit,
 * in double where that is exact, with the arithmetic and the layout of no file of src/codec. */
#ifndef CGX_TESTS_CODEC_REFERENCE_H
#define CGX_TESTS_CODEC_REFERENCE_H

#include <string.h>

#include "unit/lib/codec_data.h"

static inline size_t reference_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static inline uint32_t reference_mix(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

static inline uint32_t reference_key(uint32_t call)
{
    const uint32_t c = 0x9E3779B9u;

    return reference_mix((reference_mix(reference_mix(c) + c) ^ call) + c);
}

/* ---- the planes of max-min quantisation ---- */

/* Writes bit B of the code of element I of a piece of COUNT, if it is set, or reads it. */
static inline unsigned reference_bit(unsigned char *piece, size_t count, unsigned width,
                                     size_t buckets, size_t i, unsigned b, unsigned bit)
{
    size_t begin = reference_up(4 * buckets, 16);
    unsigned plane = 8;

    for (; !(width & plane) || b >= plane; plane /= 2)
        if (width & plane) {
            begin += reference_up(reference_up(count, 64) * plane / 8, 16);
            b -= plane;
        }
    piece[begin + (i * plane + b) / 8] |= (unsigned char)(bit << (i * plane + b) % 8);
    return piece[begin + (i * plane + b) / 8] >> (i * plane + b) % 8 & 1;
}

/* Where the value of a constant bucket is whose first element is I. */
static inline size_t reference_constant(unsigned width, size_t buckets, size_t i)
{
    unsigned plane = 8;

    while (!(width & plane))
        plane /= 2;
    return reference_up(4 * buckets, 16) + i * plane / 8;
}

/* ---- the buckets of max-min quantisation ---- */

static inline float reference_scale(float min, float max, unsigned steps)
{
    float m = fmaxf(fabsf(min), fabsf(max)), u = (max - min) * (float)(1.0 / steps);
    int exponent;

    u = fmaxf(fmaxf(u, m * 0x1.02p-15f), 0x1p-126f);
    frexpf(u, &exponent);
    return ldexpf(ceilf(ldexpf(u, 8 - exponent)), exponent - 8);
}

/* Encodes COUNT values to PIECE, which has zeros. */
static inline void reference_encode(const float *values, size_t count, unsigned width,
                                    unsigned char *piece)
{
    const size_t bucket = 128, buckets = (count + bucket - 1) / bucket;

    for (size_t at = 0; at < count; at += bucket) {
        size_t end = count - at < bucket ? count : at + bucket;
        float min = INFINITY, max = -INFINITY, u, value;
        uint32_t header = 0;
        int z, last = (1 << width) - 1;

        for (size_t i = at; i < end; i++) {
            header = fabsf(values[i]) < 0x1p125f ? header : 0x7FC00000;
            min = fminf(min, values[i]);
            max = fmaxf(max, values[i]);
        }
        if (header == 0 && min == max) {
            value = min == 0 ? 0 : min;
            memcpy(piece + reference_constant(width, buckets, at), &value, 4);
        } else if (header == 0) {
            u = reference_scale(min, max, (unsigned)last);
            z = (int)nearbyint((double)min * (float)(1.0 / u));
            header = cgx_float_bits(u) | ((uint32_t)z & 0xFFFF);
            for (size_t i = at; i < end; i++) {
                int code = (int)nearbyint((double)values[i] * (float)(1.0 / u)) - z;

                code = code < 0 ? 0 : code > last ? last : code;
                for (unsigned b = 0; b < width; b++)
                    reference_bit(piece, count, width, buckets, i, b, (unsigned)code >> b & 1);
            }
        }
        memcpy(piece + 4 * (at / bucket), &header, 4);
    }
}

/* The value of element I of such a piece. */
static inline float reference_decode(unsigned char *piece, size_t count, unsigned width, size_t i)
{
    const size_t bucket = 128, buckets = (count + bucket - 1) / bucket;
    uint32_t header, code = 0;
    float constant;

    memcpy(&header, piece + 4 * (i / bucket), 4);
    memcpy(&constant, piece + reference_constant(width, buckets, i / bucket * bucket), 4);
    for (unsigned b = 0; b < width; b++)
        code |= reference_bit(piece, count, width, buckets, i, b, 0) << b;
    return header == 0 ? constant
                       : cgx_bits_float(header & 0xFFFF0000) *
                             (float)((int)code + (int16_t)(header & 0xFFFF));
}

/* ---- history ---- */

/* The sum of the squares of a bucket of 1024 elements. */
static inline float reference_squares(const float *x)
{
    enum { COLUMNS = 256, EIGHTS = 32 };
    float sums[COLUMNS], next[EIGHTS];

    for (size_t c = 0; c < COLUMNS; c++) {
        sums[c] = 0;
        for (size_t r = 0; r < 4; r++)
            sums[c] = fmaf(x[r * COLUMNS + c], x[r * COLUMNS + c], sums[c]);
    }
    for (size_t e = 0; e < EIGHTS; e++) {
        const float *a = sums + 8 * e;

        next[e] = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
    }
    for (size_t bit = 1; bit < EIGHTS; bit *= 2) {
        memcpy(sums, next, sizeof next);
        for (size_t e = 0; e < EIGHTS; e++)
            next[e] = sums[e] + sums[e ^ bit];
    }
    return next[0];
}

static inline float reference_size(unsigned code)
{
    return ldexpf(1 + (float)(code % 32) / 32, (int)(code / 32));
}

/* Enters OUT, the COUNT elements of a bucket from element FIRST of the buffer on. */
static inline void reference_learn(struct cgx_history history, uint32_t call, const float *out,
                                   size_t first, size_t count)
{
    float o[1024] = {0}, q[1024] = {0}, *m = &history.fits[first / 1024];
    float w = history.age < 24 ? 2 / ((float)history.age + 5) : .04f, l, k, sum;
    uint32_t key = reference_key(call);

    if (history.age >= 24 && *m != 0 && reference_mix(~key - (uint32_t)first) >= 1u << 30)
        return;
    for (size_t i = 0; i < count; i++) {
        o[i] = out[i];
        q[i] = out[i] * (1 / reference_size(history.scales[first + i]));
    }
    sum = reference_squares(o);
    if (!(sum > 0x1p-100f && sum < 0x1p126f))
        return;
    l = *m == 0 ? 2 : .75f * *m + .25f * (81 * (reference_squares(q) / sum));
    w = *m == 0 ? 1 : w;
    k = fminf(l, 1) / l;
    for (size_t i = 0; i < count; i++) {
        float s = reference_size(history.scales[first + i]) - 1;
        float h = (1 - w) * k * (s * s) + 64 * w * k * ((float)count / sum) * (o[i] * o[i]) +
                  (64 - 64 * k);
        uint32_t r = ((uint32_t)(first + i) * 0x9E3779B9u + key) >> 14;
        uint32_t code = (cgx_float_bits(1 + sqrtf(h)) - 0x3F800000u + r) >> 18;

        history.scales[first + i] = (uint8_t)(code < 255 ? code : 255);
    }
    *m = fminf(l, 1);
}

#endif
