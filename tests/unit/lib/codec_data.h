/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data for tests of the codec, the same on all machines. */
#ifndef CGX_TESTS_CODEC_DATA_H
#define CGX_TESTS_CODEC_DATA_H

#include <math.h>
#include <stdint.h>

#include "codec/host_kernels.h"
#include "codec/uniform/uniform.h"
#include "lib/tap.h"

static const char *const data_sets[] = {"portable", "avx2", "avx2-shifts"};
#define DATA_SETS 3

/* The codec with these kernels; NULL, and a skip, if this processor lacks them. */
static inline const struct cgx_codec *data_codec(int set)
{
    const struct cgx_codec *codec = cgx_codec_host_named(data_sets[set]);

    if (codec == NULL)
        skip(data_sets[set], "not on this processor");
    return codec;
}

/* Encodes or decodes a piece; reduces or measures one of SOURCES. */
static inline enum cgx_status data_code(const struct cgx_codec *codec, enum cgx_operation operation,
                                        const struct cgx_coding *coding,
                                        const struct cgx_piece *piece, const void *in, void *out)
{
    return cgx_codec_run(codec,
                         &(struct cgx_work){operation, coding, piece, 1, .in = in, .out = out});
}

static inline enum cgx_status data_sum(const struct cgx_codec *codec, enum cgx_operation operation,
                                       const struct cgx_coding *coding,
                                       const struct cgx_piece *piece,
                                       const unsigned char *const *sources, size_t nsources,
                                       const void *in, void *out)
{
    return cgx_codec_run(codec, &(struct cgx_work){operation, coding, piece, 1, sources, nsources,
                                                   .in = in, .out = out});
}

static const char *const data_dtypes[] = {"float32", "float16", "bfloat16"};

/* Element INDEX as a float32, and a float32 as that element (types.c holds these to IEEE 754). */
static inline float data_load(enum cgx_dtype dtype, const void *elements, size_t index)
{
    float value;

    cgx_codec_host()->kernels.widen[dtype]((const char *)elements + index * cgx_dtype_size(dtype),
                                           1, &value);
    return value;
}

static inline void data_store(enum cgx_dtype dtype, void *elements, size_t index, float value)
{
    cgx_codec_host()->kernels.narrow[dtype](&value, 1,
                                            (char *)elements + index * cgx_dtype_size(dtype));
}

/* The step size of bucket K of PIECE at DATA: 0 if all elements are equal, or zeros; NaN if it is
 * poisoned. */
static inline float data_scale(const struct cgx_piece *piece, const unsigned char *data, size_t k)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of(piece->count);
    uint32_t header;
    float scale = 0;

    if (piece->bits <= CGX_WIDTHS) {
        memcpy(&header, data + k * CGX_BUCKET_HEADER_BYTES, sizeof header);
        return cgx_header_scale(header);
    }
    for (size_t b = 16 * k; b < 16 * k + 16 && b * CGX_UNIFORM_BLOCK < piece->count; b++) {
        unsigned kind = data[layout.kinds + b / 2] >> b % 2 * 4 & 15;

        if (kind == CGX_UNIFORM_POISON)
            return NAN;
        if (kind != CGX_UNIFORM_ZEROS)
            scale =
                cgx_uniform_group_step(cgx_uniform_head_of(data).step, data[layout.exponents + k]);
    }
    return scale;
}

/* Calls TEST with each set of kernels that this processor has and each type. */
static inline void data_test_all(void (*test)(const struct cgx_codec *codec, enum cgx_dtype dtype))
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        for (int dtype = 0; codec != NULL && dtype < 3; dtype++)
            test(codec, (enum cgx_dtype)dtype);
    }
}

/* splitmix64. */
static inline uint64_t data_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Above 0, at most 1. */
static inline double data_uniform(uint64_t *state)
{
    return (double)((data_random(state) >> 11) + 1) * 0x1p-53;
}

/* Nearly: the sum of twelve uniform ones, which no C library has a part in. */
static inline double data_gaussian(uint64_t *state)
{
    double sum = 0x1.6p-14 - 6;

    for (int i = 0; i < 3; i++) {
        uint64_t random = data_random(state);

        for (int k = 0; k < 64; k += 16)
            sum += (double)(random >> k & 0xFFFF) * 0x1p-16;
    }
    return sum + data_uniform(state) * 0x1p-16;
}

enum data_kind {
    DATA_GAUSSIAN,
    DATA_UNIFORM,
    DATA_HEAVY_TAILED,
    DATA_SPARSE,
    DATA_ONE_SIDED,
    DATA_FAR_FROM_ZERO,
    DATA_TINY,
    DATA_HUGE,
    DATA_SUBNORMAL,
    DATA_INTEGERS,
    DATA_ZEROS_OF_BOTH_SIGNS,
    DATA_CONSTANT,
    DATA_KINDS
};

static const char *const data_kinds[DATA_KINDS] = {
    "Gaussian", "uniform", "heavy-tailed", "sparse",   "one-sided",           "far from zero",
    "tiny",     "huge",    "subnormal",    "integers", "zeros of both signs", "constant"};

static inline float data_value(enum data_kind kind, uint64_t *state)
{
    double g = data_gaussian(state);

    switch (kind) {
    case DATA_UNIFORM:
        return (float)(2 * data_uniform(state) - 1);
    case DATA_HEAVY_TAILED:
        return (float)ldexp(g, (int)(4 * data_gaussian(state)));
    case DATA_SPARSE:
        return data_uniform(state) < 0.9 ? 0.0f : (float)g;
    case DATA_ONE_SIDED:
        return (float)(-1 - fabs(g));
    case DATA_FAR_FROM_ZERO:
        return (float)(1000 + 1e-3 * g);
    case DATA_TINY:
        return (float)(g * 0x1p-120);
    case DATA_HUGE:
        return (float)((2 * data_uniform(state) - 1) * 0x1.fffffp124);
    case DATA_SUBNORMAL:
        return (float)(g * 0x1p-130);
    case DATA_INTEGERS: /* ties abound */
        return (float)((int)(data_random(state) % 61) - 30);
    case DATA_ZEROS_OF_BOTH_SIGNS:
        return data_random(state) % 2 ? -0.0f : 0.0f;
    case DATA_CONSTANT:
        return -0x1.23456p-3f;
    default:
        return (float)g;
    }
}

static inline void data_fill(enum data_kind kind, uint64_t seed, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = data_value(kind, &seed);
}

/* FNV-1a. */
static inline uint64_t data_checksum(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 0xCBF29CE484222325u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001B3u;
    return hash;
}

/* ---- blocks of all kinds and forms of uniform quantisation, and as bad as can be ---- */

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
