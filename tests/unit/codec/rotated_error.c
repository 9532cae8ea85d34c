/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How large the error of rotated quantisation is: what thresholds and levels have on a normal
 * distribution, whatever that of the elements is; with the unbiased scale its mean is zero. */

#include <stdlib.h>
#include <string.h>

#include "codec/peek.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/rotated_data.h"

#define COUNT (1 << 18)

/* Of one quantisation with the least error, over the energy of the elements; widths 1 to 5. */
static const double least[] = {0.3634, 0.1175, 0.03458, 0.00954, 0.002515};

static float values[COUNT], decoded[COUNT];
static unsigned char payload[COUNT] __attribute__((aligned(16)));

static void draw(enum distribution distribution)
{
    distribution_draw(distribution, distribution + 1, COUNT, values);
}

static void code(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    const struct cgx_codec *codec = cgx_codec_host();

    data_code(codec, CGX_ENCODE, coding, piece, values, payload);
    data_code(codec, CGX_DECODE, coding, piece, payload, decoded);
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
static void test_least(enum distribution distribution)
{
    bool like_normal = distribution <= LAPLACE, within = true;

    draw(distribution);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_coding coding = {.bucket_size = 512, .least_squares = true, .seed = 7};
        const struct cgx_piece piece = {.count = COUNT, .bits = CGX_ROTATED + width};
        double ratio;

        code(&coding, &piece);
        ratio = relative_error(decoded, 1, COUNT) / least[width - 1];
        diag("%s, %u bits: %.3f of it", distribution_names[distribution], width, ratio);
        within =
            within && ratio > (like_normal ? 0.98 : 0.75) && ratio < (like_normal ? 1.02 : 1.04);
    }
    ok(within, "%s: the least error is that of normal elements, or less",
       distribution_names[distribution]);
}

/* The mean over many calls is nearer to the elements, by their number. */
static void test_unbiased(void)
{
    static float sums[COUNT];
    size_t count = (size_t)16 * 1024;
    bool unbiased = true;

    draw(GAUSSIAN);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_piece piece = {.count = count, .bits = CGX_ROTATED + width};
        double d = least[width - 1] / (1 - least[width - 1]), once = 0, mean;
        unsigned calls = 300;

        memset(sums, 0, sizeof sums);
        for (unsigned call = 0; call < calls; call++) {
            const struct cgx_coding coding = {.bucket_size = 512, .seed = 7, .call = call};

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
static void test_scale(bool least_squares)
{
    bool like_error = true;

    draw(LAPLACE);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_coding coding = {.bucket_size = 64, .least_squares = least_squares};
        const struct cgx_piece piece = {
            .first = 1024, .count = COUNT - 1024 - 5, .bits = CGX_ROTATED + width};
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
    ok(like_error, "%s: a bucket alone is decoded as all, and its scale tells the error",
       rotated_scales[least_squares]);
}

int main(void)
{
    for (int distribution = 0; distribution < DISTRIBUTIONS; distribution++)
        test_least((enum distribution)distribution);
    test_unbiased();
    test_scale(false);
    test_scale(true);
    return done_testing();
}
