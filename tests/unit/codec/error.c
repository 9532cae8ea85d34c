/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What quantisation may change. Max-min: the bound of the error, zeros, constants, what is not
 * finite. Rotated: the error is what thresholds and levels have on a normal distribution, whatever
 * that of the elements is, and its mean is zero. */

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "lib/tap.h"
#include "unit/lib/rotated_data.h"

#define COUNT (16 * 512 + 37)
#define ROTATED_COUNT (1 << 18)

static float values[ROTATED_COUNT], decoded[ROTATED_COUNT];
static unsigned char payload[ROTATED_COUNT] __attribute__((aligned(16)));

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

/* ---- rotated quantisation ---- */

/* Of one quantisation, over the energy of the elements; widths 1 to 5. */
static const double errors[] = {0.5708, 0.1331, 0.03582, 0.00963, 0.002522};

static void draw(enum distribution distribution)
{
    distribution_draw(distribution, distribution + 1, ROTATED_COUNT, values);
}

/* The energy of VALUES minus BY times SUMS, over that of values. */
static double relative_error(const float *sums, double by, size_t count)
{
    double error = 0, energy = 0;

    for (size_t i = 0; i < count; i++) {
        double difference = (double)values[i] - by * (double)sums[i];

        error += difference * difference;
        energy += (double)values[i] * (double)values[i];
    }
    return error / energy;
}

/* Where few elements rule a bucket, as they do in the last ones, it is less. */
static void test_relative(enum distribution distribution)
{
    bool like_normal = distribution <= LAPLACE, within = true;

    draw(distribution);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_coding coding = {.bucket_size = 512};
        const struct cgx_piece piece = {.count = ROTATED_COUNT, .bits = CGX_ROTATED + width};
        double ratio;

        code(&coding, &piece);
        ratio = relative_error(decoded, 1, ROTATED_COUNT) / errors[width - 1];
        diag("%s, %u bits: %.3f of it", distribution_names[distribution], width, ratio);
        within =
            within && ratio > (like_normal ? 0.98 : 0.75) && ratio < (like_normal ? 1.02 : 1.04);
    }
    ok(within, "%s: the error is that of normal elements, or less",
       distribution_names[distribution]);
}

/* The mean over many calls is nearer to the elements, by their number. */
static void test_unbiased(void)
{
    static float sums[ROTATED_COUNT];
    size_t count = (size_t)16 * 1024;
    bool unbiased = true;

    draw(GAUSSIAN);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_piece piece = {.count = count, .bits = CGX_ROTATED + width};
        double d = errors[width - 1], once = 0, mean;
        unsigned calls = 300;

        memset(sums, 0, sizeof sums);
        for (unsigned call = 0; call < calls; call++) {
            const struct cgx_coding coding = {.bucket_size = 512, .call = call};

            code(&coding, &piece);
            once += relative_error(decoded, 1, count) / calls;
            for (size_t i = 0; i < count; i++)
                sums[i] += decoded[i];
        }
        mean = relative_error(sums, 1.0 / calls, count);
        diag("%u bits: once %.3f of the error, the mean of %u calls %.3f of that over them", width,
             once / d, calls, mean * calls / d);
        unbiased = unbiased && fabs(once / d - 1) < 0.02 && mean * calls / d < 1.05;
    }
    ok(unbiased, "the mean over many calls is without bias");
}

/* u^2 / 12 is the squared error of an element. */
static void test_scale(void)
{
    bool like_error = true;

    draw(LAPLACE);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_coding coding = {.bucket_size = 64};
        const struct cgx_piece piece = {
            .first = 1024, .count = ROTATED_COUNT - 1024 - 5, .bits = CGX_ROTATED + width};
        double expected = 0, error = 0;
        float one[CGX_ROTATED_BUCKET];

        code(&coding, &piece);
        for (size_t i = 0; i < cgx_piece_buckets(&piece, 64); i++) {
            size_t first = (i + 1) * 1024, n = cgx_bucket_elements(&piece, 64, i);
            float scale;

            if (cgx_peek_bucket(&coding, &piece, i, payload, one, &scale) != CGX_OK ||
                memcmp(one, decoded + first, n * sizeof *one) != 0)
                like_error = false;
            for (size_t j = 0; j < n; j++)
                error += pow((double)one[j] - (double)values[first + j], 2);
            expected += (double)n * (double)scale * (double)scale / 12;
        }
        like_error = like_error && fabs(error / expected - 1) < 0.02;
    }
    ok(like_error, "rotated: a bucket alone is decoded as all, and its scale tells the error");
}

int main(void)
{
    for (unsigned bits = 1; bits <= 8; bits++)
        test_bound(bits);
    test_constants();
    test_poison();
    for (int distribution = 0; distribution < DISTRIBUTIONS; distribution++)
        test_relative((enum distribution)distribution);
    test_unbiased();
    test_scale();
    return done_testing();
}
