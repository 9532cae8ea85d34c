/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Samples of sums: where they are, what signs and numbers they have. */
#include "policy/look.h"

#include <math.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static void test_sketches(void)
{
    struct cgx_sample sample = {.run = 2}, sum = {.run = 2};
    struct cgx_sketch own, other;
    uint64_t seed = 1;

    for (size_t i = 0; i < 2 * CGX_LOOK_PLACES; i++)
        sample.values[i] = (float)data_gaussian(&seed);
    own = cgx_sketch_of(&sample);
    ok(cgx_sketch_agrees(&own, own.signs), "a sketch agrees with itself");
    sum = sample;
    for (size_t i = 0; i < 6; i++)
        sum.values[2 * i] *= -1;
    other = cgx_sketch_of(&sum);
    ok(cgx_sketch_agrees(&own, other.signs), "and with one of other signs in 6 of 256 places");
    sum.values[12] *= -1;
    other = cgx_sketch_of(&sum);
    ok(!cgx_sketch_agrees(&own, other.signs), "not in 7");
    for (size_t i = 0; i < 2 * CGX_LOOK_PLACES; i++)
        sample.values[i] = i / 2 < 31 ? 1 : 0;
    own = cgx_sketch_of(&sample);
    ok(!cgx_sketch_agrees(&own, own.signs), "31 places that are not zero are too few");
    sample.values[62] = 1;
    own = cgx_sketch_of(&sample);
    other = cgx_sketch_empty();
    ok(cgx_sketch_agrees(&own, own.signs) && !cgx_sketch_agrees(&own, other.signs),
       "32 are enough, but zeros agree with nothing");
}

static void test_places(void)
{
    const size_t counts[] = {1024, 1031, 1791, 4096, 4097, 65537, 1000003, (size_t)1 << 40};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct cgx_sample sample = {.run = cgx_sample_run(counts[i], CGX_LOOK_SUM_RUN)};
        const size_t run = sample.run, stride = cgx_sample_stride(counts[i]);

        for (size_t k = 0; k < CGX_LOOK_PLACES * run; k++)
            sample.values[k] = 2 * k < CGX_LOOK_PLACES * run ? 2 : 4;
        ok(run >= 4 && run <= CGX_LOOK_SUM_RUN && run % 2 == 0 && stride % 2 == 0 &&
               stride >= run && (CGX_LOOK_PLACES - 1) * stride + run <= counts[i] &&
               cgx_sample_size(&sample) == 10,
           "%zu elements: runs of %zu, %zu apart", counts[i], run, stride);
    }
}

/* Of Gaussian elements of DEVIATION, as multiples of STEP, but for the last one. */
static bool is_whole(double deviation, double step, float last)
{
    struct cgx_sample sample = {.run = 2};
    uint64_t seed = 1;

    for (size_t i = 0; i < 2 * CGX_LOOK_PLACES; i++)
        sample.values[i] = (float)(trunc(data_gaussian(&seed) * deviation / step) * step);
    sample.values[2 * CGX_LOOK_PLACES - 1] = last;
    return cgx_sample_is_whole(&sample);
}

static void test_whole(void)
{
    ok(is_whole(10, 1, -16384) && is_whole(0.3, 1, 2), "counts are whole numbers");
    ok(!is_whole(10, 1, 0.5F) && !is_whole(10, 0.5, 0) && !is_whole(10, 1, NAN) &&
           !is_whole(10, 1, INFINITY),
       "what has fractions, or is no number, is none");
    ok(!is_whole(10, 1, 16385), "nor is what may have lost its fractions");
    ok(!is_whole(0.3, 1, 1) && !is_whole(0, 1, 0), "signs and zeros alone may be gradients");
}

int main(void)
{
    test_sketches();
    test_places();
    test_whole();
    return done_testing();
}
