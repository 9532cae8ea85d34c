/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Measuring: the samples of every kernel set against slow and plain
 * arithmetic, and the error they stand for against that of encoding and decoding. */

#include <stdlib.h>
#include <string.h>

#include "codec/measure.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define BUCKETS (5 * CGX_SAMPLE_BLOCK + 1)
#define MOST (BUCKETS * 256)
#define SOURCES 4
#define GUARD_BYTE 0xA5

static float values[MOST];
static unsigned char buffers[SOURCES][4 * MOST + 1];
static unsigned char payloads[SOURCES][4 * MOST + 4096] __attribute__((aligned(16)));
static float sums[MOST];
static const unsigned char *sources[SOURCES];

static const struct cgx_sampling everything = {1, 0};

/* ---- samples, by arithmetic of their own ---- */

/* Buckets of many kinds, some not finite, in all buffers and payloads. */
static void make_sources(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY, 0x1p125f, -0x1p125f, 0x1.FFFFFEp124f};
    size_t end = piece->first + piece->count, run = coding->bucket_size;

    for (size_t p = 0; p < SOURCES; p++) {
        uint64_t state = p + 1;

        for (size_t i = 0; i < end; i += run) {
            size_t n = end - i < run ? end - i : run;
            uint64_t r = data_random(&state);

            data_fill((enum data_kind)((r >> 8) % DATA_KINDS), r, values + i, n);
            for (size_t j = i; j < i + n && coding->dtype == CGX_FLOAT16; j++)
                values[j] = fmodf(values[j], 16000);
            if ((r >> 16) % 12 == 0)
                values[i + r % n] = strange[(r >> 24) % 6];
        }
        for (size_t i = 0; i < end; i++)
            reference_narrow(coding->dtype, values[i], buffers[p] + 1, i);
        reference_encode(coding, piece, buffers[p] + 1, payloads[p]);
    }
}

/* The sum in float32, source after source; OWN is unquantised. */
static void sum_sources(const struct cgx_coding *coding, const struct cgx_piece *piece,
                        size_t nsources, size_t own)
{
    const struct cgx_piece levels = {
        .count = piece->count, .bits = piece->bits, .offset = piece->offset};
    struct cgx_coding wide = *coding;

    wide.dtype = CGX_FLOAT32;
    for (size_t p = 0; p < nsources; p++) {
        sources[p] = p == own ? NULL : payloads[p];
        if (p == own)
            for (size_t i = 0; i < piece->count; i++)
                values[i] = reference_widen(coding->dtype, buffers[p] + 1, piece->first + i);
        else
            reference_decode(&wide, &levels, payloads[p], values);
        for (size_t i = 0; i < piece->count; i++)
            sums[i] = p == 0 ? values[i] : sums[i] + values[i];
    }
}

/* t^2 of X on the grid of step U; LEVEL is what X became. */
static uint32_t square_of(float x, float u, float level)
{
    long double product = (long double)x * (float)(1.0 / (double)u);
    long t = lrint((double)(float)(product - (long double)level / u) * 1024);

    return (uint32_t)(t * t);
}

/* t^2 of X in steps of the power of two that is 2 to 4 times the largest magnitude. */
static uint32_t power_of(float x, float min, float max)
{
    int exponent;
    long t;

    frexpf(-min > max ? -min : max, &exponent);
    t = lrint(ldexp((double)x, 10 - (exponent < -126 ? -126 : exponent) - 1));
    return (uint32_t)(t * t);
}

/* What X, one bucket, is to be measured as: from the reference's encoding at every width. */
static struct cgx_sample expected_sample(const float *x, size_t count)
{
    static unsigned char payload[4 * 4096 + 64] __attribute__((aligned(16)));
    static float levels[4096];
    const struct cgx_coding coding = {.bucket_size = 4096};
    struct cgx_sample sample = {.min = INFINITY, .max = -INFINITY};
    bool poisoned = false;

    for (size_t i = 0; i < count; i++) {
        poisoned = poisoned || !(fabsf(x[i]) < 0x1p125f);
        sample.min = x[i] < sample.min ? x[i] : sample.min;
        sample.max = x[i] > sample.max ? x[i] : sample.max;
    }
    if (poisoned)
        sample.min = sample.max = cgx_bits_float(0x7FC00000);
    if (sample.min == 0)
        sample.min = 0; /* not -0 */
    if (sample.max == 0)
        sample.max = 0;
    for (size_t i = 0; i < count && !poisoned; i++)
        sample.power += power_of(x[i], sample.min, sample.max);
    for (unsigned bits = 1; bits <= 8; bits++) {
        const struct cgx_piece piece = {.count = count, .bits = bits};
        float u;

        if (poisoned || sample.min == sample.max)
            break;
        reference_encode(&coding, &piece, x, payload);
        reference_decode(&coding, &piece, payload, levels);
        u = reference_step(&coding, &piece, payload, 0);
        for (size_t i = 0; i < count; i++)
            sample.squares[bits - 1] += square_of(x[i], u, levels[i]);
    }
    return sample;
}

/* Whether CODEC measures the sum as expected, and writes nothing more. */
static bool is_measured(const struct cgx_codec *codec, const struct cgx_coding *coding,
                        const struct cgx_piece *piece, size_t nsources, size_t own)
{
    static struct cgx_sample samples[MOST / 64];
    size_t bucket_size = coding->bucket_size, n = 0;
    unsigned char guard[sizeof *samples];
    bool same = true;

    sum_sources(coding, piece, nsources, own);
    memset(samples, GUARD_BYTE, sizeof samples);
    memset(guard, GUARD_BYTE, sizeof guard);
    if (data_sum(codec, CGX_MEASURE, coding, piece, sources, nsources,
                 own < nsources ? buffers[own] + 1 : NULL, samples) != CGX_OK)
        return false;
    for (; cgx_sample_bucket(n, coding->sampling) * bucket_size < piece->count; n++) {
        size_t start = cgx_sample_bucket(n, coding->sampling) * bucket_size;
        size_t count = piece->count - start < bucket_size ? piece->count - start : bucket_size;
        struct cgx_sample expected = expected_sample(sums + start, count);

        same = same && memcmp(&samples[n], &expected, sizeof expected) == 0;
    }
    return same && memcmp(&samples[n], guard, sizeof guard) == 0;
}

static void test_sums(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    bool elements = true, summed = true, incomplete = true;

    for (unsigned bits = 2; bits <= 8; bits++) {
        const struct cgx_coding coding = {.dtype = dtype,
                                          .bucket_size = bits % 2 ? 64 : 256,
                                          .sampling = {1u << bits / 4, bits / 4 * (bits % 2)}};
        size_t bucket_size = coding.bucket_size;
        const struct cgx_piece whole = {
            .first = 2 * bucket_size, .count = (BUCKETS - 2) * bucket_size, .bits = bits};
        /* The last bucket of the first is sampled. */
        const struct cgx_piece ends[] = {
            {.count = cgx_sample_bucket(1, everything) * bucket_size + 17 + bits, .bits = bits},
            {.count = 1 + bits * 7, .bits = bits}};

        make_sources(&coding, &whole);
        elements = elements && is_measured(codec, &coding, &whole, 1, 0);
        summed = summed && is_measured(codec, &coding, &whole, SOURCES, bits % SOURCES) &&
                 is_measured(codec, &coding, &whole, SOURCES, SIZE_MAX);
        for (int i = 0; i < 2; i++) {
            make_sources(&coding, &ends[i]);
            incomplete = incomplete && is_measured(codec, &coding, &ends[i], 1, 0) &&
                         is_measured(codec, &coding, &ends[i], 3, 1);
        }
    }
    ok(elements, "%s: %s: unquantised elements", codec->name, data_dtypes[dtype]);
    ok(summed, "%s: %s: sums of payloads", codec->name, data_dtypes[dtype]);
    ok(incomplete, "%s: %s: incomplete buckets", codec->name, data_dtypes[dtype]);
}

/* As large as a bucket and its squares get. */
static void test_largest(const struct cgx_codec *codec)
{
    const struct cgx_coding coding = {.bucket_size = 4096};
    const struct cgx_piece piece = {.count = 4096, .bits = 8};
    const unsigned char *const own[] = {NULL};
    bool same = true;

    for (int kind = 0; kind < DATA_KINDS + 1; kind++) {
        struct cgx_sample sample, expected;

        if (kind == DATA_KINDS) /* half a step from any level, at the least width */
            for (int i = 0; i < 4096; i++)
                values[i] = i < 2 ? (float)i : 0.499f;
        else
            data_fill((enum data_kind)kind, 5, values, 4096);
        expected = expected_sample(values, 4096);
        data_sum(codec, CGX_MEASURE, &coding, &piece, own, 1, values, &sample);
        same = same && memcmp(&sample, &expected, sizeof sample) == 0;
        if (kind == DATA_KINDS)
            same = same && sample.squares[0] > 1u << 29;
    }
    ok(same, "%s: buckets of 4096 elements of every kind", codec->name);
}

/* ---- what a piece may hold ---- */

static void test_pieces(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};
    enum { COUNT = 64 * CGX_SAMPLE_BLOCK };
    const struct cgx_piece pieces[] = {
        {.first = 0, .count = COUNT, .bits = 3},
        {.first = COUNT, .count = 2 * COUNT, .bits = CGX_BITS_EXACT, .offset = 1024},
        {.first = 3 * COUNT, .count = COUNT, .bits = 7, .offset = 16384}};
    const unsigned char *const own[] = {NULL};
    struct cgx_sample samples[3], first;

    data_fill(DATA_GAUSSIAN, 1, values, 4096);
    memset(samples, GUARD_BYTE, sizeof samples);
    cgx_codec_run(cgx_codec_host(), &(struct cgx_work){CGX_MEASURE, &coding, pieces, 3, own, 1,
                                                       .in = values, .out = samples});
    first = expected_sample(values + 3 * COUNT, 64);
    ok(memcmp(&samples[1], &first, sizeof first) == 0 && samples[2].squares[0] == 0xA5A5A5A5,
       "exact pieces have no samples");
}

static void test_refused(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};
    const struct cgx_piece piece = {.count = (CGX_SAMPLE_BLOCK + 4) * 64, .bits = 4};
    const unsigned char *const payload[] = {payloads[0]};
    const uint32_t bad = 0x80000000;
    struct cgx_sample samples[2];
    bool refused;

    data_fill(DATA_GAUSSIAN, 1, values, piece.count);
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payloads[0]);
    memcpy(payloads[0] + 0, &bad, sizeof bad); /* the first sample's */
    refused = data_sum(cgx_codec_host(), CGX_MEASURE, &coding, &piece, payload, 1, NULL, samples) ==
              CGX_ERR_FORMAT;
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payloads[0]);
    ok(refused && data_sum(cgx_codec_host(), CGX_MEASURE, &coding, &piece, payload, 1, NULL,
                           samples) == CGX_OK,
       "a header that no encoder writes is refused");
}

static void test_zeros(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};
    const struct cgx_piece piece = {.count = 64, .bits = 4};
    const unsigned char *const own[] = {NULL};
    const struct cgx_sample zeros = {0};
    struct cgx_sample sample;
    bool same = true;

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 64; j++)
            values[j] = i == 0 || (i == 1 && j == 63) ? -0.0f : 0.0f;
        data_sum(cgx_codec_host(), CGX_MEASURE, &coding, &piece, own, 1, values, &sample);
        same = same && memcmp(&sample, &zeros, sizeof zeros) == 0;
    }
    ok(same, "zeros of either sign are zeros");
}

/* ---- the error ---- */

/* The square of what makes all buckets count alike, where one may be much larger than all others.
 */
static double weight_of(const struct cgx_sample *sample)
{
    double range = (double)sample->max - sample->min;

    return 1 / (range * range);
}

/* Over the sampled buckets: measured, and of encoding and decoding. */
static double error_ratio(enum data_kind kind, unsigned bits)
{
    enum { SAMPLES = 64, COUNT = SAMPLES * CGX_SAMPLE_BLOCK * 256 };
    static float elements[COUNT];
    static unsigned char payload[2 * COUNT] __attribute__((aligned(16)));
    static float decoded[COUNT];
    static struct cgx_sample samples[SAMPLES];
    const struct cgx_coding coding = {.bucket_size = 256};
    const struct cgx_piece piece = {.count = COUNT, .bits = bits};
    const unsigned char *const own[] = {NULL};
    double measured = 0, actual = 0;

    data_fill(kind, bits, elements, COUNT);
    data_sum(cgx_codec_host(), CGX_MEASURE, &coding, &piece, own, 1, elements, samples);
    for (size_t i = 0; i < SAMPLES; i++)
        measured += weight_of(&samples[i]) * cgx_sample_error(&samples[i], bits);
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, elements, payload);
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, payload, decoded);
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t j = 0; j < 256; j++) {
            size_t at = cgx_sample_bucket(i, everything) * 256 + j;
            double error = (double)decoded[at] - elements[at];

            actual += weight_of(&samples[i]) * error * error;
        }
    return measured / actual;
}

static void test_error(enum data_kind kind)
{
    double off = 0;

    for (unsigned bits = 1; bits <= 8; bits++)
        off = fmax(off, fabs(error_ratio(kind, bits) - 1));
    diag("%s: off by %.5f %%", data_kinds[kind], 100 * off);
    ok(off < 0.001, "%s: the squared error, to 0.1 %%", data_kinds[kind]);
}

static void test_special_errors(void)
{
    const struct cgx_sample poisoned = {.min = NAN, .max = NAN};
    const struct cgx_sample constant = {.min = 3, .max = 3}, zero = {.min = 0, .max = 0};
    const struct cgx_sample sample = {.min = -7, .max = 8, .squares = {[3] = 1u << 20}};

    ok(isnan(cgx_sample_error(&poisoned, 4)), "the error of a poisoned bucket is NaN");
    ok(cgx_sample_error(&constant, 1) == 0 && cgx_sample_error(&zero, 2) == 0,
       "that of a constant one is 0");
    ok(cgx_sample_error(&sample, 4) >= 1 && cgx_sample_error(&sample, 4) < 1.02,
       "squares are in units of the step squared, 2^-20");
}

static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    test_sums(codec, dtype);
    if (dtype == CGX_FLOAT32)
        test_largest(codec);
}

int main(void)
{
    data_test_all(test_set);
    test_pieces();
    test_refused();
    test_zeros();
    test_error(DATA_GAUSSIAN);
    test_error(DATA_HEAVY_TAILED);
    test_error(DATA_SPARSE);
    test_special_errors();
    return done_testing();
}
