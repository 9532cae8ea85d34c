/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What uniform quantisation promises: each element is off by nothing on average whatever the
 * element is, and not at all if it is a zero; what has no code stays as it is; and no data takes
 * more than the bytes of a piece. That an element is off by half a step at most is what
 * tests/fuzz/uniform asks of elements of any kind. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT (64 * 1024)
#define ENCODING (CGX_UNIFORM + 2)

static float values[COUNT], decoded[COUNT];
static unsigned char payload[2 * COUNT] __attribute__((aligned(64)));

static struct cgx_coding coding_of(float step, uint32_t turn)
{
    return (struct cgx_coding){.bucket_size = 512, .turn = turn, .step = step};
}

static enum cgx_status transmit(const struct cgx_codec *codec, float step, uint32_t turn,
                                size_t count)
{
    const struct cgx_coding coding = coding_of(step, turn);
    const struct cgx_piece piece = {.count = count, .bits = ENCODING};
    enum cgx_status status = data_code(codec, CGX_ENCODE, &coding, &piece, values, payload);

    return status == CGX_OK ? data_code(codec, CGX_DECODE, &coding, &piece, payload, decoded)
                            : status;
}

/* ---- errors ---- */

/* Sums of two payloads and elements, each with zeros of its own: in blocks none to all. */
static void test_sums(const struct cgx_codec *codec)
{
    static unsigned char sources[3][2 * COUNT] __attribute__((aligned(64)));
    static float elements[COUNT];
    static bool zeros[COUNT];
    const struct cgx_coding coding = coding_of(0.5f, 3);
    const struct cgx_piece piece = {.count = COUNT, .bits = ENCODING};
    bool same = true;

    for (size_t unquantised = 0; unquantised < 3; unquantised++) {
        const unsigned char *from[3];

        memset(zeros, true, sizeof zeros);
        for (uint64_t s = 0; s < 3; s++) {
            uint64_t state = s;

            for (size_t i = 0; i < COUNT; i++) {
                bool is_zero = data_random(&state) % 64 < i / 64 % 65;

                values[i] = is_zero ? i % 2 ? 0.0f : -0.0f : (float)data_gaussian(&state);
                zeros[i] = zeros[i] && is_zero;
            }
            if (s == unquantised)
                memcpy(elements, values, sizeof elements);
            data_code(codec, CGX_ENCODE, &coding, &piece, values, sources[s]);
            from[s] = s == unquantised ? NULL : sources[s];
        }
        same = same &&
               data_sum(codec, CGX_REDUCE, &coding, &piece, from, 3, elements, payload) == CGX_OK &&
               data_code(codec, CGX_DECODE, &coding, &piece, payload, decoded) == CGX_OK;
        for (size_t i = 0; i < COUNT; i++)
            same = same && zeros[i] == (cgx_float_bits(decoded[i]) == 0);
    }
    ok(same, "%s: an element of a sum is a zero if those of all sources are", codec->name);
}

/* Over many calls errors are evenly spread, of elements anywhere between two levels. */
static void test_bias(const struct cgx_codec *codec)
{
    enum { CALLS = 400 };
    double worst = 0, squares = 0, mean = 0, most = 0;
    static double sums[COUNT];

    memset(sums, 0, sizeof sums);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)(i / 64) / 1024 - 0.5f;
    for (uint32_t call = 0; call < CALLS; call++) {
        transmit(codec, 1, call, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double error = (double)decoded[i] - (double)values[i];

            sums[i] += error;
            most = fabs(sums[i]) > most && call < 256 ? fabs(sums[i]) : most;
            squares += error * error;
            mean += error;
        }
    }
    /* Blocks of equal elements: their mean over all calls. */
    for (size_t b = 0; b < COUNT / 64; b++) {
        double sum = 0;

        for (size_t i = 64 * b; i < 64 * b + 64; i++)
            sum += sums[i];
        worst = fabs(sum) > worst ? fabs(sum) : worst;
    }
    worst /= 64 * CALLS;
    mean /= (double)COUNT * CALLS;
    squares /= (double)COUNT * CALLS;
    ok(fabs(mean) < 2e-4, "%s: errors have the mean 0 (%.1e)", codec->name, mean);
    ok(worst < 0.012, "%s: and so have those of any element (%.3f)", codec->name, worst);
    ok(most < 2, "%s: of an element that does not change they cancel each other (%.2f)",
       codec->name, most);
    ok(fabs(squares * 12 - 1) < 0.02, "%s: their squares have that of an even spread (%.4f)",
       codec->name, squares * 12);
}

/* The step of the group of element I. */
static double step_of(size_t i)
{
    size_t exponents = cgx_uniform_layout_of(COUNT).exponents;

    return ldexp((double)cgx_uniform_head_of(payload).step,
                 payload[exponents + i / CGX_UNIFORM_GROUP] - 24);
}

/* The step of a group is the greatest power of two times that of its piece, at most 1 and at least
 * 2^-24, with which its errors have no more than a part of its own mean square. */
static void test_floor(const struct cgx_codec *codec)
{
    static const float floors[] = {1, 0.25f, 0.01f, 1e-6f};
    struct cgx_coding coding = coding_of(1, 1);
    const struct cgx_piece piece = {.count = COUNT, .bits = ENCODING};
    unsigned lowered = 0;
    bool held = true;

    data_fill(DATA_GAUSSIAN, 6, values, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i % 7 < 2 ? 0 : ldexpf(values[i], 6 - (int)(i / 1024 % 40));
    for (size_t f = 0; f < 4; f++) {
        coding.floor = floors[f];
        data_code(codec, CGX_ENCODE, &coding, &piece, values, payload);
        for (size_t g = 0; g < COUNT; g += 1024) {
            double power = 0, others = 0, step = step_of(g), error;

            for (size_t i = g; i < g + 1024; i++) {
                power += (double)values[i] * (double)values[i];
                others += values[i] != 0;
            }
            error = others * step * step / 12 / (power * (double)floors[f]);
            held = held && (error <= 1.00001 || step == 0x1p-24) && (error > 0.24999 || step == 1);
            lowered += step < 1;
        }
    }
    ok(held && lowered > 64, "%s: a quiet group has smaller steps (%u of 256)", codec->name,
       lowered);
}

/* ---- special values ---- */

static void test_special(const struct cgx_codec *codec)
{
    bool kept, poisoned = true, zeros = true;

    data_fill(DATA_GAUSSIAN, 2, values, 2048);
    memset(values + 128, 0, 64 * sizeof *values);
    values[130] = -0.0f;
    values[5] = NAN;
    values[300] = -0x1.234p90f;
    values[1200] = INFINITY;
    transmit(codec, 0.5f, 1, 2048);
    kept = isnan(decoded[5]) && decoded[1200] == INFINITY && decoded[300] == values[300] &&
           decoded[6] == values[6];
    for (size_t i = 128; i < 192; i++)
        zeros = zeros && cgx_float_bits(decoded[i]) == 0;
    ok(kept, "%s: what has no code is kept, its block with it", codec->name);
    ok(zeros, "%s: a block of zeros is one of zeros", codec->name);
    for (size_t i = 0; i < 1024; i += 64)
        values[i] = NAN;
    transmit(codec, 0.5f, 1, 2048);
    for (size_t i = 0; i < 1024; i++)
        poisoned = poisoned && isnan(decoded[i]);
    ok(poisoned && !isnan(decoded[1024]), "%s: where all blocks have a NaN all are NaN",
       codec->name);
}

/* Data that has no redundancy, and data far beyond the step: the step is doubled. */
static void test_worst(const struct cgx_codec *codec)
{
    static const float scales[] = {1, 60, 126, 200, 1e6f, 1e30f};
    bool fits = true;

    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        data_fill(DATA_UNIFORM, s, values, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            values[i] *= scales[s];
        fits = fits && transmit(codec, 1, 1, COUNT) == CGX_OK &&
               cgx_uniform_used(payload, COUNT) <= cgx_uniform_bytes(COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            float step = scales[s] / 60 > 1 ? scales[s] / 60 : 1;

            fits = fits && fabsf(decoded[i] - values[i]) <= step / 2 * 1.0001f;
        }
    }
    ok(fits, "%s: the worst data fits, with steps of a sixtieth of it at most", codec->name);
}

static void test_steps(const struct cgx_codec *codec)
{
    static const float steps[] = {0, -1, NAN, INFINITY, 0x1.fffffep-110f, 0x1p-140f, 0x1.1p126f};
    static const float errors[] = {0.5f, 0.01f, 0x1p-12f, 0x1p-17f};
    bool refused = true, own = true;

    data_fill(DATA_GAUSSIAN, 3, values, 2048);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct cgx_coding coding = coding_of(0, 1);
        const struct cgx_piece piece = {.count = 2048, .bits = ENCODING};
        double step;

        coding.error = errors[i];
        own = own && data_code(codec, CGX_ENCODE, &coding, &piece, values, payload) == CGX_OK;
        step = (double)cgx_uniform_head_of(payload).step;
        own = own && fabs(step * step / 12 / (double)errors[i] - 1) < 0.1;
    }
    ok(own, "%s: without a step a piece has that of the error", codec->name);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        refused = refused && transmit(codec, steps[i], 1, 2048) == CGX_ERR_INVALID;
    ok(refused, "%s: nothing is encoded with a step that is none", codec->name);
    data_fill(DATA_HUGE, 3, values, 2048);
    values[9] = 0x1.fffffep127f;
    refused = transmit(codec, CGX_UNIFORM_LEAST_STEP, 2, 2048) == CGX_OK;
    ok(refused && isfinite(decoded[9]) && fabsf(decoded[9] / values[9] - 1) < 0.01f,
       "%s: the largest float32 has a code at the least step", codec->name);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        test_floor(codec);
        test_special(codec);
        test_worst(codec);
        test_steps(codec);
        test_sums(codec);
        if (codec == cgx_codec_host())
            test_bias(codec);
    }
    return done_testing();
}
