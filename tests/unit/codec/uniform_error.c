/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What uniform quantisation promises: each element is off by half a step at most, by nothing on
 * average whatever the element is, and not at all where a block is of zeros; what has no code stays
 * as it is; no data takes more than the bytes of a piece; and payloads that no encoder writes are
 * refused. */

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
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

static bool is_within(float value, float level, float step)
{
    double error = fabs((double)level - (double)value), magnitude = fabs((double)value);

    return error <= 0.5 * (double)step + (magnitude + (double)step) * 0x1p-22;
}

static void test_bound(const struct cgx_codec *codec)
{
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        double power = 0;
        bool within = true;
        float step;

        data_fill((enum data_kind)kind, 1, values, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            power += (double)values[i] * (double)values[i];
        step = cgx_uniform_step(power, COUNT, 0.01);
        within = transmit(codec, step, 1, COUNT) == CGX_OK;
        for (size_t i = 0; i < COUNT; i++) {
            size_t group = i / CGX_UNIFORM_GROUP;
            unsigned exponent = payload[cgx_uniform_layout_of(COUNT).exponents + group];

            within = within && is_within(values[i], decoded[i], ldexpf(step, (int)exponent));
        }
        ok(within, "%s: %s: each element is within half a step", codec->name, data_kinds[kind]);
    }
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
    static const float steps[] = {0, -1, NAN, INFINITY, 0x1p-121f, 0x1p-140f, 0x1.1p126f};
    static const float errors[] = {0.5f, 0.01f, 0x1p-12f, 0x1p-17f};
    bool refused = true, decodes = true;
    bool own = true;

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
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const struct cgx_coding coding = coding_of(1, 1);
        const struct cgx_piece piece = {.count = 2048, .bits = ENCODING};

        transmit(codec, 1, 1, 2048);
        memcpy(payload, &steps[i], sizeof steps[i]);
        decodes = decodes &&
                  data_code(codec, CGX_DECODE, &coding, &piece, payload, decoded) == CGX_ERR_FORMAT;
    }
    ok(decodes, "%s: nor decoded", codec->name);
    data_fill(DATA_HUGE, 3, values, 2048);
    values[9] = 0x1.fffffep127f;
    refused = transmit(codec, 0x1p-120f, 2, 2048) == CGX_OK;
    ok(refused && isfinite(decoded[9]) && fabsf(decoded[9] / values[9] - 1) < 0.01f,
       "%s: the largest float32 has a code at the least step", codec->name);
}

/* ---- malformed payloads ---- */

static enum cgx_status decode_changed(const struct cgx_codec *codec, size_t at, uint64_t bytes,
                                      size_t count)
{
    const struct cgx_coding coding = coding_of(1, 1);
    const struct cgx_piece piece = {.count = 3000, .bits = ENCODING};

    transmit(codec, 1, 1, 3000);
    memcpy(payload + at, &bytes, count);
    return data_code(codec, CGX_DECODE, &coding, &piece, payload, decoded);
}

static void test_malformed(const struct cgx_codec *codec)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of(3000);
    uint64_t state = 1;
    bool refused = true, survived = true;
    uint32_t end;
    size_t used;

    data_fill(DATA_GAUSSIAN, 4, values, 3000);
    ok(decode_changed(codec, 0, 0, 0) == CGX_OK, "%s: what is not changed is decoded", codec->name);
    memcpy(&end, payload + layout.ends, sizeof end);
    for (int by = -2; by <= 2; by++)
        refused = refused && (by == 0 || decode_changed(codec, layout.ends, end + (uint32_t)by,
                                                        4) == CGX_ERR_FORMAT);
    refused = refused && decode_changed(codec, layout.ends + 4, UINT32_MAX, 4) == CGX_ERR_FORMAT &&
              decode_changed(codec, layout.ends + 8, 48 * 8, 4) == CGX_ERR_FORMAT;
    ok(refused, "%s: lengths that lie are refused", codec->name);
    refused = decode_changed(codec, layout.exponents, 255, 1) == CGX_ERR_FORMAT;
    for (uint64_t kind = CGX_UNIFORM_KINDS; kind < 16; kind++)
        refused = refused && decode_changed(codec, layout.kinds, kind * 0x11, 1) == CGX_ERR_FORMAT;
    refused = refused && decode_changed(codec, layout.kinds + 23, 0x10, 1) == CGX_ERR_FORMAT;
    ok(refused, "%s: exponents and blocks that there are not are refused", codec->name);
    transmit(codec, 1, 1, 3000);
    memcpy(payload + 8, &(uint64_t){48 * 8}, 8);
    ok(cgx_uniform_used(payload, 3000) == 0, "%s: as a head that says too many words is",
       codec->name);
    /* All that may happen is an error or other elements. */
    transmit(codec, 1, 1, 3000);
    used = cgx_uniform_used(payload, 3000);
    for (int i = 0; i < 20000; i++) {
        enum cgx_status status =
            decode_changed(codec, data_random(&state) % used, data_random(&state), 1);

        survived = survived && (status == CGX_OK || status == CGX_ERR_FORMAT);
    }
    ok(survived, "%s: bytes that change do no harm", codec->name);
}

static void test_peek(const struct cgx_codec *codec)
{
    const struct cgx_coding coding = coding_of(0.25f, 1);
    const struct cgx_piece piece = {.count = 3000, .bits = ENCODING};
    float bucket[CGX_UNIFORM_GROUP], scale;
    bool same = true;

    data_fill(DATA_GAUSSIAN, 5, values, 3000);
    transmit(codec, 0.25f, 1, 3000);
    for (size_t i = 0; i < 3; i++) {
        size_t count = cgx_bucket_elements(&piece, 512, i);

        same = same && cgx_peek_bucket(&coding, &piece, i, payload, bucket, &scale) == CGX_OK &&
               scale == 0.25f &&
               memcmp(bucket, decoded + i * CGX_UNIFORM_GROUP, count * sizeof *bucket) == 0;
    }
    ok(same, "a group is what it is decoded to, looked into alone");
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        test_bound(codec);
        test_special(codec);
        test_worst(codec);
        test_steps(codec);
        test_malformed(codec);
        if (codec == cgx_codec_host()) {
            test_bias(codec);
            test_peek(codec);
        }
    }
    return done_testing();
}
