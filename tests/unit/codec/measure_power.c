/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The powers that samples have, against those of the elements. */

#include <math.h>

#include "codec/codec.h"
#include "codec/measure.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

enum { COUNT = 512 };

static float values[COUNT];

/* Against that of all elements of the buckets. */
static void test_power(enum data_kind kind)
{
    const struct cgx_coding coding = {.bucket_size = COUNT};
    const struct cgx_piece piece = {.count = COUNT, .bits = 4};
    const unsigned char *const own[] = {NULL};
    double worst = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct cgx_sample sample;
        double power = 0;

        data_fill(kind, seed, values, COUNT);
        data_sum(cgx_codec_host(), CGX_MEASURE, &coding, &piece, own, 1, values, &sample);
        for (size_t i = 0; i < COUNT; i++)
            power += (double)values[i] * (double)values[i];
        worst = fmax(worst, fabs(cgx_sample_second_moment(&sample) / power - 1));
    }
    ok(worst < 0.005, "%s: the power of the elements, to 0.5 %% (%.2f %%)", data_kinds[kind],
       100 * worst);
}

static void test_special_powers(void)
{
    const struct cgx_sample poisoned = {.min = NAN, .max = NAN};
    float magnitudes[] = {0x1p-149f, 0x1p-126f, 0x1.8p-30f, 1, 0x1.FFFFFEp124f};
    bool right = true;

    for (size_t i = 0; i < sizeof magnitudes / sizeof magnitudes[0]; i++) {
        float inv = cgx_sample_grid(-magnitudes[i], magnitudes[i] / 2).inv;
        int exponent;

        right &= frexpf(inv, &exponent) == 0.5F && magnitudes[i] * inv < 0.5F;
        right &= magnitudes[i] < 0x1p-126f || magnitudes[i] * inv >= 0.25F;
    }
    ok(right, "the largest magnitude is at least a quarter of a power of two, and less than half");
    ok(isnan(cgx_sample_second_moment(&poisoned)), "the power of a poisoned bucket is NaN");
}

int main(void)
{
    test_power(DATA_GAUSSIAN);
    test_power(DATA_HEAVY_TAILED);
    test_power(DATA_SPARSE);
    test_power(DATA_TINY);
    test_power(DATA_HUGE);
    test_special_powers();
    return done_testing();
}
