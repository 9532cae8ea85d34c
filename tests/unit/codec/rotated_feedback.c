/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What residuals are for, and what they must not do: errors do not add up from call to call; no
 * residual is longer than four times what it is added to, none is infinite, and none comes of what
 * is not there. */

#include <string.h>

#include "codec/encoding.h"
#include "codec/rotated/rotated_model.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT (3 * 1024 + 700) /* the last bucket is incomplete */
#define BYTES 8192

static const char *const ways[] = {"encoded", "reduced"};
static float elements[COUNT], decoded[COUNT];
static uint16_t residuals[COUNT] __attribute__((aligned(16)));
static unsigned char payload[BYTES] __attribute__((aligned(16)));

static struct cgx_piece piece_of(unsigned width)
{
    return (struct cgx_piece){.count = COUNT, .bits = CGX_ROTATED + width};
}

static struct cgx_coding coding_of(uint32_t call)
{
    return (struct cgx_coding){.bucket_size = 512, .call = call};
}

/* Encodes the elements, or reduces them and nothing else, and decodes that. */
static void quantise(unsigned width, uint32_t call, bool reduces, uint16_t *kept)
{
    static const unsigned char *const own[] = {NULL};
    const struct cgx_coding coding = coding_of(call);
    const struct cgx_piece piece = piece_of(width);
    struct cgx_work work = {CGX_ENCODE,
                            &coding,
                            &piece,
                            1,
                            own,
                            reduces,
                            .in = elements,
                            .out = payload,
                            .residuals = {kept, 0}};

    work.operation = reduces ? CGX_REDUCE : CGX_ENCODE;
    if (cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        bail_out("nothing is quantised");
    work.operation = CGX_DECODE;
    work.in = payload;
    work.out = decoded;
    if (cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        bail_out("nothing is decoded");
}

static double norm(const float *values, size_t first, size_t count)
{
    double sum = 0;

    for (size_t i = first; i < first + count; i++)
        sum += (double)values[i] * values[i];
    return sqrt(sum);
}

/* How far the sum of what was decoded in CALLS calls is from that of the elements, relative to
 * these. */
static double drift(unsigned width, uint32_t calls, bool reduces, uint16_t *kept)
{
    static double sums[COUNT];
    double apart = 0;

    memset(residuals, 0, sizeof residuals);
    memset(sums, 0, sizeof sums);
    for (uint32_t call = 0; call < calls; call++) {
        quantise(width, call, reduces, kept);
        for (size_t i = 0; i < COUNT; i++)
            sums[i] += decoded[i];
    }
    for (size_t i = 0; i < COUNT; i++)
        apart += (sums[i] - (double)calls * elements[i]) * (sums[i] - (double)calls * elements[i]);
    return sqrt(apart) / norm(elements, 0, COUNT);
}

/* With an error of q times what is quantised, in the norm, residuals settle at no more than q / (1
 * - q) of the elements: that is what is not decoded yet, however many calls there were. bfloat16,
 * and what is behind the end of the last bucket, add a little. */
static void test_no_drift(unsigned width, bool reduces)
{
    double error = sqrt(cgx_rotated_error(width)), most = 1.05 * error / (1 - error);
    double few = drift(width, 100, reduces, residuals),
           many = drift(width, 300, reduces, residuals);

    ok(few < most && many < most,
       "%u bits, %s: what is decoded lacks %.3f and %.3f of the elements of one call after 100 and "
       "300 (%.1f without residuals)",
       width, ways[reduces], few, many, drift(width, 300, reduces, NULL));
}

/* Much more than the elements. */
static void test_cap(bool reduces)
{
    bool bounded = true;

    data_fill(DATA_GAUSSIAN, 6, elements, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        residuals[i] = cgx_to_bfloat16(i % 3 == 0 ? -1e6f : 1e5f);
    quantise(4, 1, reduces, residuals);
    for (size_t first = 0; first < COUNT; first += 1024) {
        size_t n = COUNT - first < 1024 ? COUNT - first : 1024;

        double ratio = norm(decoded, first, n) / norm(elements, first, n);

        bounded = bounded && ratio > 3.95 && ratio < 5.05;
    }
    ok(bounded,
       "%s: residuals that are longer than four times the elements are made as long as that",
       ways[reduces]);
}

static bool are(size_t first, size_t count, const uint16_t *wanted)
{
    return memcmp(residuals + first, wanted + first, count * sizeof *wanted) == 0;
}

/* Buckets 0, 1 and the last are poisoned, of zeros, and of neither. */
static void test_special(bool reduces)
{
    static const uint16_t none[COUNT];
    static uint16_t before[COUNT];
    bool zeros = true;

    data_fill(DATA_GAUSSIAN, 7, elements, COUNT);
    elements[55] = NAN;
    memset(elements + 1024, 0, 1024 * sizeof *elements);
    for (size_t i = 0; i < COUNT; i++)
        residuals[i] = cgx_to_bfloat16(elements[i % 1024 + 2048 < COUNT ? i % 1024 + 2048 : i] / 4);
    memcpy(before, residuals, sizeof before);
    quantise(2, 1, reduces, residuals);
    for (size_t i = 1024; i < 2048; i++)
        zeros = zeros && decoded[i] == 0;
    ok(isnan(decoded[0]) && are(0, 1024, before), "%s: a poisoned bucket keeps its residuals",
       ways[reduces]);
    ok(zeros && are(1024, 1024, before), "... one of zeros is zeros, and keeps them too");
    ok(!are(2048, 1024, before) && !are(2048, 1024, none), "... others are other ones");
}

/* Of elements near the largest float32, of which the errors may be beyond it. */
static void test_finite(bool reduces)
{
    bool finite = true;

    for (uint32_t call = 0; call < 40; call++) {
        data_fill(DATA_UNIFORM, call, elements, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            elements[i] = elements[i] < 0 ? -0x1.fffffep127f : 0x1.fffffep127f;
        if (call == 0)
            memset(residuals, 0, sizeof residuals);
        quantise(1 + call % 5, call, reduces, residuals);
        for (size_t i = 0; i < COUNT; i++)
            finite = finite && isfinite(cgx_from_bfloat16(residuals[i]));
    }
    ok(finite, "%s: residuals of the largest elements are finite", ways[reduces]);
}

/* Residuals that are zeros change nothing. */
static void test_none(bool reduces)
{
    static unsigned char without[BYTES];

    data_fill(DATA_HEAVY_TAILED, 8, elements, COUNT);
    memset(residuals, 0, sizeof residuals);
    quantise(3, 9, reduces, NULL);
    memcpy(without, payload, BYTES);
    quantise(3, 9, reduces, residuals);
    ok(memcmp(payload, without, BYTES) == 0, "%s: the first call's payload is that of no residuals",
       ways[reduces]);
}

int main(void)
{
    for (int reduces = 0; reduces < 2; reduces++) {
        data_fill(DATA_GAUSSIAN, 5, elements, COUNT);
        for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++)
            test_no_drift(width, reduces);
        test_cap(reduces);
        test_special(reduces);
        test_finite(reduces);
        test_none(reduces);
    }
    return done_testing();
}
