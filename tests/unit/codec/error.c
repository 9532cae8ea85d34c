/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What quantisation may change. Max-min: the bound of the error, and sums beyond the type. Uniform:
 * each element is off by nothing on average, whatever it is; tests/fuzz/uniform asks that it is off
 * by half a step at most. Zeros and what is not finite: sets.c. */

#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT (64 * 1024)

static float values[COUNT], decoded[COUNT];
static unsigned char payload[2 * COUNT] __attribute__((aligned(64)));

static enum cgx_status transmit(const struct cgx_coding *coding, unsigned bits, size_t count)
{
    const struct cgx_piece piece = {.count = count, .bits = bits};
    const struct cgx_codec *codec = cgx_codec_host();
    enum cgx_status status = data_code(codec, CGX_ENCODE, coding, &piece, values, payload);

    return status == CGX_OK ? data_code(codec, CGX_DECODE, coding, &piece, payload, decoded)
                            : status;
}

/* ---- max-min ---- */

/* Over all data: whether errors are within half of 1 + 2^-8 steps. */
static void test_bound(unsigned bits)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32};
    bool within = true;

    for (int kind = 0; kind < DATA_KINDS; kind++) {
        bool kind_within = true;

        data_fill((enum data_kind)kind, bits, values, COUNT);
        transmit(&coding, bits, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            uint32_t header;

            memcpy(&header, payload + 4 * (i / CGX_MAXMIN_BUCKET), sizeof header);
            kind_within = kind_within && fabs((double)decoded[i] - values[i]) <=
                                             0.5 * (1 + 0x1p-8) * (double)cgx_header_scale(header);
        }
        if (!kind_within)
            diag("not within: %s", data_kinds[kind]);
        within = within && kind_within;
    }
    ok(within, "%u bits: every error is within half of 1 + 2^-8 steps", bits);
}

/* Two sources of float16 like 0 to 40000: whatever the bucket's steps, what is far within the type
 * stays, and what is far beyond it is no number. */
static void test_overflow(void)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT16};
    const struct cgx_piece piece = {.count = 64, .bits = 8};
    const unsigned char *sources[] = {payload, payload};
    static unsigned char sum[128] __attribute__((aligned(16)));
    uint16_t elements[64];
    bool good = true;

    for (int i = 0; i < 64; i++)
        data_store(CGX_FLOAT16, elements, (size_t)i, 40000 * (float)i / 63);
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, elements, payload);
    data_sum(cgx_codec_host(), CGX_REDUCE, &coding, &piece, sources, 2, NULL, sum);
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, sum, elements);
    for (int i = 0; i < 64; i++) {
        float exact = 80000 * (float)i / 63, got = data_load(CGX_FLOAT16, elements, (size_t)i);

        good = good && (exact < 65000 ? fabsf(got - exact) < 400 : exact < 66000 || isinf(got));
    }
    ok(good, "a float16 sum beyond the type is infinite, the others of its bucket are not");
}

/* ---- uniform ---- */

/* Over many calls errors are evenly spread, of elements anywhere between two levels. */
static void test_bias(void)
{
    enum { CALLS = 400 };
    double worst = 0, squares = 0, mean = 0, most = 0;
    static double sums[COUNT];

    memset(sums, 0, sizeof sums);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)(i / 64) / 1024 - 0.5f;
    for (uint32_t call = 0; call < CALLS; call++) {
        const struct cgx_coding coding = {.turn = call, .step_size = 1};

        transmit(&coding, CGX_UNIFORM + 2, COUNT);
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
    ok(fabs(mean) < 2e-4, "errors have the mean 0 (%.1e)", mean);
    ok(worst < 0.012, "and so have those of any element (%.3f)", worst);
    ok(most < 2, "of an element that does not change they cancel each other (%.2f)", most);
    ok(fabs(squares * 12 - 1) < 0.02, "their squares have that of an even spread (%.4f)",
       squares * 12);
}

static void test_steps(void)
{
    static const float steps[] = {0, -1, NAN, INFINITY, 0x1.fffffep-110f, 0x1p-140f, 0x1.1p126f};
    const struct cgx_piece piece = {.count = 2048, .bits = CGX_UNIFORM + 2};
    const unsigned char *sources[] = {payload, payload};
    struct cgx_coding coding = {.dtype = CGX_FLOAT32};
    bool refused = true;

    data_fill(DATA_HUGE, 3, values, 2048);
    values[9] = 0x1.fffffep127f;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        coding.step_size = steps[i];
        refused = refused && transmit(&coding, CGX_UNIFORM + 2, 2048) == CGX_ERR_INVALID;
    }
    ok(refused, "nothing is encoded with a step that is none");
    coding.step_size = CGX_UNIFORM_LEAST_STEP;
    ok(transmit(&coding, CGX_UNIFORM + 2, 2048) == CGX_OK && isfinite(decoded[9]) &&
           fabsf(decoded[9] / values[9] - 1) < 0.01f,
       "the largest float32 has a code at the least step");
    ok(data_sum(cgx_codec_host(), CGX_REDUCE, &coding, &piece, sources, 2, NULL, payload) ==
           CGX_ERR_INVALID,
       "no sum takes the place of one of its sources");
}

int main(void)
{
    for (unsigned bits = 1; bits <= 8; bits++)
        test_bound(bits);
    test_overflow();
    test_steps();
    test_bias();
    return done_testing();
}
