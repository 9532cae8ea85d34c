/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What max-min quantisation may change: the bound of the error, zeros, constants, what is not
 * finite, sums beyond the type. */

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT (16 * 512 + 37)

static float values[COUNT], decoded[COUNT];
static unsigned char payload[2 * COUNT] __attribute__((aligned(16)));
static unsigned char result[512] __attribute__((aligned(16)));

static void code(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    const struct cgx_codec *codec = cgx_codec_host();

    data_code(codec, CGX_ENCODE, coding, piece, values, payload);
    memset(decoded, 0xFF, (piece->first + piece->count) * sizeof *decoded);
    data_code(codec, CGX_DECODE, coding, piece, payload, decoded);
}

/* The step of the bucket of element I; 0: it is constant. */
static double step_of(const struct cgx_coding *coding, size_t i)
{
    uint32_t header;

    memcpy(&header, payload + 4 * (i / coding->bucket_size), sizeof header);
    return (double)cgx_header_scale(header);
}

/* Over all data: whether errors are within half of 1 + 2^-8 steps, and zeros remain. */
static void test_bound(unsigned bits)
{
    const struct cgx_coding coding = {.bucket_size = bits % 2 ? 64 : 512};
    const struct cgx_piece piece = {.count = COUNT, .bits = bits};
    bool within = true, zeros = true;

    for (int kind = 0; kind < DATA_KINDS; kind++) {
        bool kind_within = true;

        data_fill((enum data_kind)kind, bits, values, COUNT);
        code(&coding, &piece);
        for (size_t i = 0; i < COUNT; i++) {
            double error = fabs((double)decoded[i] - values[i]);

            kind_within = kind_within && error <= 0.5 * (1 + 0x1p-8) * step_of(&coding, i);
            zeros = zeros && (values[i] != 0 || cgx_float_bits(decoded[i]) == 0);
        }
        if (!kind_within)
            diag("not within: %s", data_kinds[kind]);
        within = within && kind_within;
    }
    ok(within, "%u bits: every error is within half of 1 + 2^-8 steps", bits);
    ok(zeros, "%u bits: zeros of either sign become +0", bits);
}

static void test_constants(void)
{
    static const float constants[] = {1, -0x1.FFFFFEp124f, 0x1p-149f, -0x1.23456p-130f, 65504, 0};
    bool exact = true;

    for (unsigned bits = 1; bits <= 8; bits++)
        for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) {
            const struct cgx_coding coding = {.bucket_size = 64};
            const struct cgx_piece piece = {.count = 65, .bits = bits};

            for (int i = 0; i < 65; i++)
                values[i] = constants[k];
            code(&coding, &piece);
            exact = exact && memcmp(values, decoded, 65 * sizeof *values) == 0;
        }
    ok(exact, "constant buckets are exact at every width");
}

/* One BAD element at a place in the second of three buckets. */
static bool poisons(float bad, unsigned bits, size_t place)
{
    const struct cgx_coding coding = {.bucket_size = 128};
    const struct cgx_piece piece = {.count = 300, .bits = bits};
    bool poisoned = true;

    data_fill(DATA_GAUSSIAN, bits, values, 300);
    values[128 + place] = bad;
    code(&coding, &piece);
    for (size_t i = 0; i < 300; i++)
        poisoned = poisoned && (i / 128 == 1 ? cgx_float_bits(decoded[i]) == CGX_NAN_FLOAT32
                                             : isfinite(decoded[i]));
    return poisoned;
}

static void test_poison(void)
{
    const float bad[] = {INFINITY,  -INFINITY,      NAN, -NAN, cgx_bits_float(0x7F800001), 0x1p125f,
                         -0x1p125f, 0x1.FFFFFEp127f};
    bool poisoned = true, limit = true;

    for (unsigned bits = 1; bits <= 8; bits++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            for (size_t place = 0; place < 128; place += 9)
                poisoned = poisoned && poisons(bad[i], bits, place);
        limit =
            limit && !poisons(0x1.FFFFFEp124f, bits, 5) && !poisons(-0x1.FFFFFEp124f, bits, 127);
    }
    ok(poisoned, "an element that is not finite, or too large, poisons its bucket and no other");
    ok(limit, "magnitudes just below 2^125 do not");
}

/* ---- sums ---- */

/* The header of the sum of NSOURCES payloads, up to 7, of the 64 ELEMENTS. */
static uint32_t sum_header(const struct cgx_coding *coding, const void *elements, size_t nsources,
                           unsigned bits)
{
    const struct cgx_piece piece = {.count = 64, .bits = bits};
    const unsigned char *sources[] = {payload, payload, payload, payload,
                                      payload, payload, payload};
    uint32_t header;

    data_code(cgx_codec_host(), CGX_ENCODE, coding, &piece, elements, payload);
    data_sum(cgx_codec_host(), CGX_REDUCE, coding, &piece, sources, nsources, NULL, result);
    memcpy(&header, result, sizeof header);
    return header;
}

static void test_ones(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};
    const struct cgx_piece piece = {.count = 64, .bits = 3};
    bool exact;

    for (int i = 0; i < 64; i++)
        values[i] = 1;
    exact = sum_header(&coding, values, 7, 3) == CGX_BUCKET_CONSTANT;
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, result, values);
    for (int i = 0; i < 64; i++)
        exact = exact && values[i] == 7;
    ok(exact, "seven sources of ones sum to seven exactly");
}

/* Two sources of float16 like 0 to 40000: whatever the bucket's steps, what is far within the type
 * stays, and what is far beyond it is no number. */
static void test_overflow(void)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT16, .bucket_size = 64};
    const struct cgx_piece piece = {.count = 64, .bits = 8};
    uint16_t elements[64];
    bool good;

    for (int i = 0; i < 64; i++)
        data_store(CGX_FLOAT16, elements, (size_t)i, 40000 * (float)i / 63);
    good = sum_header(&coding, elements, 2, 8) != CGX_BUCKET_POISON;
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, result, elements);
    for (int i = 0; i < 64; i++) {
        float sum = 80000 * (float)i / 63, got = data_load(CGX_FLOAT16, elements, (size_t)i);

        good = good && (sum < 65000 ? fabsf(got - sum) < 400 : sum < 66000 || isinf(got));
    }
    ok(good, "a float16 sum beyond the type is infinite, the others of its bucket are not");
}

static void test_limit(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};

    data_fill(DATA_UNIFORM, 1, values, 64);
    values[9] = 0x1p124f;
    ok(sum_header(&coding, values, 1, 4) != CGX_BUCKET_POISON &&
           sum_header(&coding, values, 2, 4) == CGX_BUCKET_POISON,
       "a float32 sum of 2^125 or more poisons its bucket");
}

int main(void)
{
    for (unsigned bits = 1; bits <= 8; bits++)
        test_bound(bits);
    test_constants();
    test_poison();
    test_ones();
    test_overflow();
    test_limit();
    return done_testing();
}
