/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Uniform quantisation once more, bit by bit and straight from doc/format.md, with the arithmetic
 * and the layout of no file of src/codec. */
#ifndef CGX_TESTS_UNIFORM_REFERENCE_H
#define CGX_TESTS_UNIFORM_REFERENCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

struct uniform_bits {
    unsigned char *bytes;
    size_t at;
};

static inline void uniform_put(struct uniform_bits *bits, unsigned bit)
{
    unsigned char *byte = bits->bytes + bits->at / 8;

    *byte = (unsigned char)((*byte & ~(1u << bits->at % 8)) | bit << bits->at % 8);
    bits->at++;
}

static inline uint32_t uniform_mix(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

static inline uint32_t uniform_key(const struct cgx_coding *coding)
{
    const uint32_t c = 0x9E3779B9u, shifts[] = {c, 0x6A09E667u, 0xBB67AE85u, 0xA54FF53Au};
    uint32_t key = uniform_mix(c);

    key = uniform_mix(key + c);
    key = uniform_mix((key ^ coding->turn / 256) + c);
    key = uniform_mix((key ^ coding->stream) + c);
    return (key & 0xFFFFFF00u) + (coding->turn * shifts[coding->stage] >> 24);
}

/* 512ths of element I of the buffer. */
static inline int uniform_dither(uint32_t key, size_t i)
{
    uint32_t n = (uint32_t)(i / 64 * 16 + i % 16);
    uint32_t h = uniform_mix(n * 0x9E3779B9u + key / 256 * 256);

    return (int)(((h >> (8 * (i % 64 / 16))) + key) & 255) * 2 - 255;
}

/* 2k or -2k - 1; 255: there is no code. */
static inline unsigned uniform_code(float x, float step, int dither)
{
    float inverse = 1 / step, scaled = x * inverse, sum = scaled + (float)dither / 512;
    double code = nearbyint((double)sum);

    if (!(fabs(code) <= 126))
        return 255;
    return code < 0 ? (unsigned)(-2 * code - 1) : (unsigned)(2 * code);
}

static inline unsigned uniform_rice(const unsigned codes[64], struct uniform_bits *bits)
{
    unsigned sum = 0, parameter = 0, left = 64;

    for (int i = 0; i < 64; i++)
        sum += codes[i];
    while (parameter < 6 && sum * 45 / 4096 >= 1u << parameter)
        parameter++;
    if (64 * parameter + 64 + (sum >> parameter) >= 512)
        parameter = 8;
    for (unsigned bit = 0; bit < parameter; bit++)
        for (int i = 0; i < 64; i++)
            uniform_put(bits, codes[i] >> bit & 1);
    for (unsigned level = 1; parameter < 8 && left > 0; level++) {
        left = 0;
        for (int i = 0; i < 64; i++)
            if (codes[i] >> parameter >= level - 1) {
                uniform_put(bits, codes[i] >> parameter >= level);
                left += codes[i] >> parameter >= level;
            }
    }
    return parameter < 8 ? parameter : 7;
}

static inline void uniform_raw(const float x[64], struct uniform_bits *bits)
{
    for (int i = 0; i < 64; i++)
        for (int bit = 0; bit < 32; bit++)
            uniform_put(bits, (isnan(x[i]) ? 0x7FC00000u : cgx_float_bits(x[i])) >> bit & 1);
}

/* A group whose first element is FIRST, of BLOCKS blocks, which have room for MOST bits. False: it
 * has more. */
static inline bool uniform_group(const float *x, size_t first, size_t blocks, size_t most,
                                 float step, uint32_t key, bool poisons, unsigned char *kinds,
                                 struct uniform_bits *bits)
{
    size_t begin = bits->at;

    memset(kinds, 0, 8);
    for (size_t b = 0; b < blocks; b++, x += 64, first += 64) {
        unsigned codes[64], kind, any = 0, all_zero = 1, large = 0, finite = 1;

        for (size_t i = 0; i < 64; i++) {
            codes[i] = uniform_code(x[i], step, uniform_dither(key, first + i));
            any |= codes[i];
            all_zero &= x[i] == 0;
            large |= codes[i] == 255;
            finite &= isfinite(x[i]) != 0;
        }
        if (!finite && poisons) {
            kind = 11;
        } else if (large) {
            if (bits->at - begin + 2048 > most)
                return false;
            uniform_raw(x, bits);
            kind = 10;
        } else if (any == 0) {
            kind = all_zero ? 9 : 8;
        } else {
            if (bits->at - begin + 512 > most)
                return false;
            kind = uniform_rice(codes, bits);
        }
        kinds[b / 2] |= (unsigned char)(kind << 4 * (b % 2));
    }
    while (bits->at % 64 != 0)
        uniform_put(bits, 0);
    return true;
}

/* What the sources of a sum say of all that they come from, the mean square of the errors in one of
 * its elements, and how far they shift its dithers; zeros: it is none. */
struct uniform_before {
    double energy;
    uint64_t elements;
    double noise;
    uint32_t shift;
};

/* Encodes COUNT values, FIRST being the number of the first in the buffer, to
 * PIECE, which has zeros. Returns the bytes that are used. */
static inline size_t uniform_encode(const struct cgx_coding *coding, const float *values,
                                    size_t first, size_t count, struct uniform_before before,
                                    unsigned char *piece)
{
    size_t groups = (count + 1023) / 1024, words, ends = 32, exponents, kinds;
    uint32_t key = uniform_key(coding);
    struct uniform_bits bits;
    uint64_t elements = before.elements + count;
    double energy = before.energy;

    key = key / 256 * 256 + (key + before.shift) % 256;
    exponents = ends + (4 * groups + 15) / 16 * 16;
    kinds = exponents + (groups + 15) / 16 * 16;
    words = kinds + (8 * groups + 15) / 16 * 16;
    bits = (struct uniform_bits){piece + words, 0};
    memcpy(piece, &coding->step, 4);
    memcpy(piece + 4, &key, 4);
    for (size_t g = 0; g < groups; g++) {
        size_t n = count - 1024 * g < 1024 ? count - 1024 * g : 1024, begin = bits.at;
        size_t blocks = (n + 63) / 64, most_bits = blocks * 512;
        float x[1024] = {0}, most = 0;
        double own;
        uint32_t end;
        int e = 0, next = 0, last = 0;

        memcpy(x, values + 1024 * g, n * sizeof *x);
        if (!uniform_group(x, first + 1024 * g, blocks, most_bits, coding->step, key, false,
                           piece + kinds + 8 * g, &bits)) {
            for (int i = 0; i < 1024; i++)
                most = isfinite(x[i]) && fabsf(x[i]) > most ? fabsf(x[i]) : most;
            while (most * (1 / ldexpf(coding->step, last)) > 126)
                last++;
            for (bool fits = false; !fits; next = next == 0 ? 1 : 2 * next) {
                e = next < last ? next : last;
                memset(bits.bytes + begin / 8, 0, 8192);
                bits.at = begin;
                fits =
                    uniform_group(x, first + 1024 * g, blocks, most_bits, ldexpf(coding->step, e),
                                  key, true, piece + kinds + 8 * g, &bits);
            }
        }
        piece[exponents + g] = (unsigned char)e;
        end = (uint32_t)(bits.at / 64);
        memcpy(piece + ends + 4 * g, &end, 4);
        own = (double)reference_square_sum(x, 1024) - (double)n * before.noise;
        energy += own < 0 ? 0 : own;
        energy = isnan(energy) ? (double)NAN : energy;
    }
    memcpy(piece + 8, &(uint64_t){bits.at / 64}, 8);
    memcpy(piece + 16, &energy, 8);
    memcpy(piece + 24, &elements, 8);
    return words + (bits.at / 64 + 1) / 2 * 16;
}

#endif
