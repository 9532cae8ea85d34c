/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The encoder of uniform quantisation once more, straight from doc/format.md. */
#ifndef CGX_TESTS_UNIFORM_ENCODER_H
#define CGX_TESTS_UNIFORM_ENCODER_H

#include "unit/lib/codec_reference.h"
#include "unit/lib/uniform_reference.h"

static inline uint32_t uniform_key(const struct cgx_coding *coding)
{
    const uint32_t c = 0x9E3779B9u, shifts[] = {c, 0x6A09E667u, 0xBB67AE85u, 0xA54FF53Au};
    uint32_t key = reference_mix((reference_key(coding->turn / 256) ^ coding->stream) + c);

    return (key & 0xFFFFFF00u) + (coding->turn * shifts[coding->stage] >> 24);
}

/* The form of N codes. */
static inline unsigned uniform_form(const unsigned *codes, unsigned n)
{
    unsigned sum = 0, most = 0, p = 0, nibbles = 0;

    for (unsigned i = 0; i < n; i++) {
        sum += codes[i];
        most = codes[i] > most ? codes[i] : most;
    }
    if (sum == 0)
        return 8;
    while (p < (most > 252 ? 14 : 6) && 45.0 * sum >= ldexp(64 * n, (int)p))
        p++;
    if (most > 252) {
        while (most >> p > 255)
            p++;
        return 16 + p;
    }
    if (n * (p + 1) + (sum >> p) >= 8 * n)
        return 7;
    for (unsigned i = 0; i < n; i += 4)
        for (unsigned j = i; j < n && j < i + 4; j++)
            if (codes[j] != 0) {
                nibbles++;
                break;
            }
    return p == 0 && 16 + 4 * nibbles < n ? 15 : p;
}

/* The kind and the form of a block with CODES, which has ZEROS and N other codes, OTHERS. */
static inline void uniform_choose(struct uniform_block *block, const unsigned codes[64],
                                  const unsigned *others, unsigned n)
{
    unsigned form = uniform_form(codes, 64), p = uniform_is_rice(form) ? uniform_planes(form) : 7;
    unsigned zeros = 64 - n, none = 0;

    for (int i = 0; i < 64; i++)
        none += codes[i] == 0;
    p = form == 8 || form == 15 ? 0 : p;
    block->form = form;
    if (n == 0) {
        block->kind = 9;
        block->form = 8;
    } else if (form >= 16) {
        block->kind = zeros > 0 ? 12 : 14;
    } else if (zeros == 0) {
        block->kind = form;
    } else {
        block->kind = (p + 1) * zeros + none < 64 ? 13 : 12;
    }
    if (block->kind == 12)
        block->form = uniform_form(others, n);
}

/* A block of 64 X, of which the first is element FIRST of the buffer. */
static inline void uniform_quantise(const float *x, size_t first, float step, uint32_t key,
                                    bool is_sum, bool poisons, struct uniform_block *block)
{
    unsigned codes[64], others[64], n = 0, nibbles = 0;
    bool raw = false, finite = true;
    float inverse = 1 / step;

    *block = (struct uniform_block){.form = 8};
    for (unsigned i = 0; i < 64; i++) {
        float scaled = x[i] * inverse, v = scaled + uniform_dither(key, first + i);
        int k = fabsf(v) <= 32767 ? (int)nearbyint((double)v) : 0;

        block->raw[i] = isnan(x[i]) ? 0x7FC00000u : cgx_float_bits(x[i]);
        block->is_zero[i] = is_sum ? block->raw[i] == 0x80000000u : x[i] == 0;
        codes[i] = block->is_zero[i] ? 0 : k < 0 ? (unsigned)(-2 * k - 1) : (unsigned)(2 * k);
        if (!block->is_zero[i])
            others[n++] = codes[i];
        finite = finite && isfinite(x[i]);
        raw = raw || !(fabsf(v) <= 32767);
    }
    if (raw) {
        block->kind = poisons && !finite ? 11 : 10;
        return;
    }
    uniform_choose(block, codes, others, n);
    for (unsigned i = 0; i < (block->kind == 12 ? n : 64); i++) {
        unsigned code = block->kind == 12 ? others[i] : codes[i], p = uniform_planes(block->form);

        block->q[i] = uniform_is_rice(block->form) ? code >> p : 0;
        block->r[i] = code & ((1u << p) - 1);
        nibbles |= (block->q[i] > 0) << i / 4;
    }
    block->nibbles = block->form == 15 ? nibbles : 0;
}

/* A group of N blocks. False: it has too many bits. */
static inline bool uniform_group(const float *x, size_t first, size_t n, float step, uint32_t key,
                                 bool is_sum, bool poisons, unsigned char *kinds,
                                 struct uniform_bits *bits)
{
    struct uniform_block blocks[16];

    memset(kinds, 0, 8);
    for (size_t b = 0; b < n; b++) {
        uniform_quantise(x + 64 * b, first + 64 * b, step, key, is_sum, poisons, &blocks[b]);
        kinds[b / 2] |= (unsigned char)(blocks[b].kind << 4 * (b % 2));
    }
    bits->end = bits->at + 640 * n;
    uniform_parts(blocks, n, bits);
    while (bits->at % 64 != 0)
        uniform_bit(bits, 0);
    return bits->at <= bits->end;
}

/* The exponent of a group of N elements before it is known whether it fits. */
static inline int uniform_floor(const float x[1024], size_t n, float step, float part, bool is_sum)
{
    double squares = (double)reference_squares(x), others = 0, h = (double)step;
    int e;

    for (size_t i = 0; i < n; i++)
        others += is_sum ? cgx_float_bits(x[i]) != 0x80000000u : x[i] != 0;
    if (!(squares > 0 && squares < 0x1p126) || others == 0 || !(part > 0))
        return 0;
    e = (int)floor(ilogb(12 * (double)part * squares / (others * h * h)) / 2.0);
    while (e < -24 || ldexp(h, e) < 0x1p-120)
        e++;
    return e < 0 ? e : 0;
}

/* The exponent from which on all finite X have codes of 8 bits. */
static inline int uniform_last(const float x[1024], float step)
{
    float most = 0;
    int last = 0;

    for (int i = 0; i < 1024; i++)
        most = isfinite(x[i]) && fabsf(x[i]) > most ? fabsf(x[i]) : most;
    while (most * (1 / ldexpf(step, last)) > 126)
        last++;
    return last;
}

/* In pairs, then pairs of these, and so on. */
static inline double uniform_total(const double *sums, int count)
{
    return count == 1 ? *sums
                      : uniform_total(sums, count / 2) + uniform_total(sums + count / 2, count / 2);
}

static inline double uniform_squares(const float *values, size_t count)
{
    double sums[128] = {0};

    for (size_t g = 0; 1024 * g < count; g++) {
        float x[1024] = {0}, squares;

        memcpy(x, values + 1024 * g, (count - 1024 * g < 1024 ? count - 1024 * g : 1024) * 4);
        squares = reference_squares(x);
        sums[g % 128] += isfinite(squares) ? (double)squares : 0;
    }
    return uniform_total(sums, 128);
}

/* What a sum comes from; zeros: it is an input. */
struct uniform_before {
    bool is_sum;
    double energy, noise, squares; /* SQUARES: those that its step follows from */
    uint64_t elements;
    size_t payloads;
    float steps[8];
    uint32_t keys[8];
};

/* Adds a source of COUNT elements: PIECE, or VALUES if that is NULL. */
static inline void uniform_take(struct uniform_before *before, const struct cgx_coding *coding,
                                const unsigned char *piece, const float *values, size_t count)
{
    double energy, n = (double)count;
    uint64_t elements;
    float *h = &before->steps[before->payloads];

    if (!piece) {
        before->squares += uniform_squares(values, count);
        return;
    }
    memcpy(h, piece, 4);
    memcpy(&before->keys[before->payloads++], piece + 4, 4);
    memcpy(&energy, piece + 16, 8);
    memcpy(&elements, piece + 24, 8);
    before->energy += energy;
    before->elements += elements;
    before->noise += (double)*h * (double)*h * (double)elements / (12 * n);
    before->squares += (double)*h * (double)*h * n / (12 * (double)coding->error);
}

static inline float uniform_step(const struct cgx_coding *coding, double squares, size_t count)
{
    double h = sqrt(12 * (double)coding->error * squares / (double)count);

    return coding->step_size > 0 ? coding->step_size : (float)fmin(fmax(h, 0x1p-109), 0x1p126);
}

/* The step and the key of a piece. */
static inline uint32_t uniform_begin(const struct cgx_coding *coding, const float *values,
                                     size_t count, const struct uniform_before *before, float *h)
{
    uint32_t key = uniform_key(coding), shift = key;

    *h = uniform_step(coding, before->is_sum ? before->squares : uniform_squares(values, count),
                      count);
    for (size_t p = 0; p < before->payloads; p++) {
        float t = (float)(before->keys[p] % 256) * (before->steps[p] / *h) + .5f;

        shift += t < 0x1p23f ? (uint32_t)floorf(t) : 0;
    }
    return key / 256 * 256 + shift % 256;
}

/* Encodes COUNT values, FIRST being the number of the first in the buffer, to PIECE, which has
 * zeros. Returns the bytes that are used. */
static inline size_t uniform_encode(const struct cgx_coding *coding, const float *values,
                                    size_t first, size_t count, const struct uniform_before *before,
                                    unsigned char *piece)
{
    const struct uniform_layout layout = uniform_layout_of(count);
    struct uniform_bits bits = {.bytes = piece + layout.words, .writes = true};
    uint64_t elements = before->elements + count;
    double energy, sums[128] = {0};
    float h;
    uint32_t key = uniform_begin(coding, values, count, before, &h);

    for (size_t g = 0; g < layout.groups; g++) {
        size_t n = count - 1024 * g < 1024 ? count - 1024 * g : 1024, begin = bits.at;
        float x[1024] = {0};
        double own;
        uint32_t end;
        int e, next = 0, last;

        for (size_t i = n; before->is_sum && i < 1024; i++)
            x[i] = -0.0f;
        memcpy(x, values + 1024 * g, n * sizeof *x);
        e = uniform_floor(x, n, h, coding->floor, before->is_sum);
        last = uniform_last(x, h);
        for (bool poisons = false;
             !uniform_group(x, first + 1024 * g, uniform_blocks_of(count, g), ldexpf(h, e), key,
                            before->is_sum, poisons, piece + layout.kinds + 8 * g, &bits);
             poisons = true, next = next == 0 ? 1 : 2 * next) {
            e = next < last ? next : last;
            bits.at = begin;
            memset(bits.bytes + begin / 8, 0, 80 * uniform_blocks_of(count, g));
        }
        piece[layout.exponents + g] = (unsigned char)(e + 24);
        end = (uint32_t)(bits.at / 64);
        memcpy(piece + layout.ends + 4 * g, &end, 4);
        own = (double)reference_squares(x) - (double)n * before->noise;
        sums[g % 128] += own < 0 ? 0 : own;
    }
    energy = before->energy + uniform_total(sums, 128);
    energy = isnan(energy) ? (double)NAN : energy;
    memcpy(piece, &h, 4);
    memcpy(piece + 4, &key, 4);
    memcpy(piece + 8, &(uint64_t){bits.at / 64}, 8);
    memcpy(piece + 16, &energy, 8);
    memcpy(piece + 24, &elements, 8);
    return layout.words + (bits.at / 64 + 1) / 2 * 16;
}

#endif
