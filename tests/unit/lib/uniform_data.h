/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Blocks for tests of uniform quantisation: of all kinds and forms, and as bad as can be. */
#ifndef CGX_TESTS_UNIFORM_DATA_H
#define CGX_TESTS_UNIFORM_DATA_H

#include "unit/lib/codec_data.h"

/* What a block's elements are of before some become zeros or outliers. */
enum uniform_shape {
    SHAPE_GAUSSIAN,
    SHAPE_UNIFORM,
    SHAPE_FEW,         /* of unlike sizes among others far below the step */
    SHAPE_EXPONENTS,   /* each with an exponent of its own */
    SHAPE_ANY,         /* any float32 that is finite */
    SHAPE_ALTERNATING, /* one magnitude */
    SHAPES
};

static inline float uniform_element(enum uniform_shape shape, uint64_t *state, float scale,
                                    size_t i)
{
    uint64_t random = data_random(state);

    switch (shape) {
    case SHAPE_UNIFORM:
        return scale * (float)(2 * data_uniform(state) - 1);
    case SHAPE_FEW:
        return random % 16 == 0 ? ldexpf(scale, (int)(random >> 8) % 8) : scale * 0x1p-20f;
    case SHAPE_EXPONENTS:
        return ldexpf(random % 2 ? scale : -scale, (int)(random >> 8) % 32 - 16);
    case SHAPE_ANY:
        return cgx_bits_float((uint32_t)random & (random >> 63 ? 0xFEFFFFFFu : 0xFF7FFFFFu));
    case SHAPE_ALTERNATING:
        return i % 2 ? scale : -scale;
    default:
        return scale * (float)data_gaussian(state);
    }
}

/* What is too large for a code of 8 bits at steps near 1, of 16 bits, or for any. */
static inline float uniform_outlier(uint64_t *state)
{
    static const float outliers[] = {127,   300,   3e3f,     32766, 32767.6f,        4e4f,
                                     1e6f,  1e30f, INFINITY, NAN,   0x1.fffffep127f, -200,
                                     -2e4f, -1e5f, -INFINITY};

    return outliers[data_random(state) % (sizeof outliers / sizeof *outliers)];
}

/* Elements of a block, at steps near STEP; one block in WILD has outliers. */
static inline void uniform_block_fill(uint64_t *state, float step, unsigned wild, float x[64])
{
    enum uniform_shape shape = (enum uniform_shape)(data_random(state) % SHAPES);
    float scale = ldexpf(step, (int)(data_random(state) % 22) - 7);
    unsigned zeros = data_random(state) % 2 ? 0 : (unsigned)(data_random(state) % 8);
    unsigned outliers = data_random(state) % wild ? 0 : 1 + (unsigned)(data_random(state) % 5);

    zeros = zeros == 0 ? 0 : zeros == 7 ? 64 : 1u << (zeros - 1); /* of 64 */
    for (size_t i = 0; i < 64; i++) {
        x[i] = uniform_element(shape, state, scale, i);
        if (data_random(state) % 64 < zeros)
            x[i] = data_random(state) % 2 ? 0.0f : -0.0f;
    }
    for (; outliers > 0; outliers--)
        x[data_random(state) % 64] = step * uniform_outlier(state);
}

/* COUNT values; groups are tame, wild, or of noise as large as steps of a power of two allow. */
static inline void uniform_fill(uint64_t seed, float step, float *values, size_t count)
{
    static const unsigned wilds[] = {1000000, 1000, 50, 4, 1};
    uint64_t state = seed;
    unsigned wild = 0;
    float most = 0;

    for (size_t i = 0; i < count; i += 64) {
        float x[64];

        if (i % 1024 == 0) {
            wild = wilds[data_random(&state) % 5];
            most = wild == 1 && i / 1024 % 2 ? ldexpf(126 * step, 7 + (int)(i % 3)) : 0;
        }
        uniform_block_fill(&state, step, wild, x);
        for (size_t k = 0; most > 0 && k < 64; k++)
            x[k] = most * (k == 5 ? 1 : (float)(2 * data_uniform(&state) - 1));
        memcpy(values + i, x, (count - i < 64 ? count - i : 64) * sizeof *x);
    }
}

#endif
