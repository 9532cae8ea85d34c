/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What max-min quantisation may change: the bound of the error, zeros, constants, what is not
 * finite. */

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define COUNT (16 * 512 + 37)

static float values[COUNT], decoded[COUNT];
static unsigned char payload[2 * COUNT] __attribute__((aligned(16)));

static void code(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    const struct cgx_codec *codec = cgx_codec_host();

    data_code(codec, CGX_ENCODE, coding, piece, values, payload);
    memset(decoded, 0xFF, (piece->first + piece->count) * sizeof *decoded);
    data_code(codec, CGX_DECODE, coding, piece, payload, decoded);
}

/* ---- max-min quantisation ---- */

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
            double u = reference_step(&coding, &piece, payload, i);

            kind_within = kind_within && error <= 0.5 * (1 + 0x1p-8) * u;
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

int main(void)
{
    for (unsigned bits = 1; bits <= 8; bits++)
        test_bound(bits);
    test_constants();
    test_poison();
    return done_testing();
}
