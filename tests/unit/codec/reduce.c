/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Reducing: decode each source that is not raw, sum in float32 in the order given, encode, in one
 * operation; and measuring such sums. */

#include <stdlib.h>
#include <string.h>

#include "codec/measure.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define COUNT 1700 /* with padding after the headers and after every slice of bits */
#define SOURCES 8
#define BYTES (4 * COUNT + 64)

static float values[COUNT];
static unsigned char buffers[SOURCES][4 * COUNT + 1];
static unsigned char payloads[SOURCES][BYTES] __attribute__((aligned(16)));
static unsigned char results[2][BYTES] __attribute__((aligned(16)));
static const unsigned char *sources[SOURCES];

/* Source P's elements and payload: buckets of many kinds, some poisoned, some that cancel. */
static void make_source(const struct cgx_coding *coding, const struct cgx_piece *piece, int p)
{
    uint64_t state = (uint64_t)p + 1;

    for (size_t i = 0; i < COUNT; i += 128)
        data_fill((enum data_kind)((i / 128 + (size_t)p / 4) % DATA_KINDS), data_random(&state),
                  values + i, COUNT - i < 128 ? COUNT - i : 128);
    for (size_t i = 0; i < COUNT && coding->dtype == CGX_FLOAT16; i++)
        values[i] = fmodf(values[i] * (i % 640 < 128 ? 9999.0f : 1.0f), 30000); /* may overflow */
    if (p == 2)
        values[900] = -NAN;
    if (p == 5 || p == 6)
        values[700] = p == 5 ? -INFINITY : INFINITY;
    for (size_t i = 0; i < COUNT; i++)
        reference_narrow(coding->dtype, values[i], buffers[p] + 1, i);
    memset(payloads[p], 0xAA, BYTES);
    reference_encode(coding, piece, buffers[p] + 1, payloads[p]);
}

/* The sources are those that make_source made. With source OWN unquantised, if it is one, and, if
 * IN_PLACE, the result over another source for a while. */
static bool is_same(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece, size_t nsources, size_t own, bool in_place)
{
    size_t bytes = reference_bytes(COUNT, piece->bits, coding->bucket_size, coding->dtype);
    const void *buffer = own < nsources ? buffers[own] + 1 : NULL;
    unsigned char *out = in_place ? payloads[own == 0 ? nsources - 1 : 0] : results[1];
    static unsigned char before[BYTES];
    bool same;

    for (size_t p = 0; p < nsources; p++)
        sources[p] = p == own ? NULL : payloads[p];
    memset(results, 0xAA, sizeof results);
    memcpy(before, out, BYTES);
    reference_reduce(coding, piece, sources, nsources, buffer, results[0]);
    same = data_sum(codec, CGX_REDUCE, coding, piece, sources, nsources, buffer, out) == CGX_OK &&
           memcmp(out, results[0], bytes) == 0 &&
           memcmp(out + bytes, before + bytes, BYTES - bytes) == 0;
    memcpy(out, before, BYTES);
    return same;
}

static void test_payloads(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 128, .call = 2, .stream = 1};
    bool same = true, own = true, in_place = true;

    for (unsigned bits = 1; bits <= 32; bits = data_next_width(bits)) {
        const struct cgx_piece piece = {.count = COUNT, .bits = bits};

        for (int p = 0; p < SOURCES; p++)
            make_source(&coding, &piece, p);
        same = same && is_same(codec, &coding, &piece, 1, SIZE_MAX, false) &&
               is_same(codec, &coding, &piece, SOURCES, SIZE_MAX, false);
        own = own && is_same(codec, &coding, &piece, 1, 0, false) &&
              is_same(codec, &coding, &piece, 4, 0, false) &&
              is_same(codec, &coding, &piece, SOURCES, 3, false) &&
              is_same(codec, &coding, &piece, SOURCES, SOURCES - 1, false);
        in_place = in_place && is_same(codec, &coding, &piece, SOURCES, SIZE_MAX, true) &&
                   is_same(codec, &coding, &piece, 3, 0, true);
    }
    ok(same, "%s: %s: the bytes of decode, sum, encode", codec->name, data_dtypes[dtype]);
    ok(own, "%s: %s: unquantised elements in any place", codec->name, data_dtypes[dtype]);
    ok(in_place, "%s: %s: the result may replace a source", codec->name, data_dtypes[dtype]);
}

/* ---- raw sources ---- */

/* Which sources are raw, and which one is the buffer. */
static const struct arrangement {
    size_t nsources, own;
    unsigned first_raw, raws;
} arrangements[] = {{1, SIZE_MAX, 0, 1},       {4, SIZE_MAX, 0, 4}, {4, 0, 0, 4},
                    {SOURCES, SIZE_MAX, 0, 3}, {SOURCES, 1, 2, 3},  {SOURCES, 2, 2, 3},
                    {SOURCES, 3, 2, 3},        {SOURCES, 4, 2, 3},  {SOURCES, 5, 2, 3},
                    {SOURCES, SIZE_MAX, 5, 3}, {SOURCES, 7, 4, 4},  {SOURCES, SIZE_MAX, 7, 1}};
#define ARRANGEMENTS (sizeof arrangements / sizeof *arrangements)

static unsigned char raws[SOURCES][BYTES] __attribute__((aligned(16)));
static unsigned char moved[4 * COUNT + 8];

/* A part of the buffer, its last bucket incomplete, elsewhere in payloads and in raw sources. */
static struct cgx_piece raw_piece(unsigned bits)
{
    return (struct cgx_piece){
        .first = 384, .count = COUNT - 384, .bits = bits, .offset = 32, .raw = 48};
}

static void make_raws(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    size_t size = cgx_dtype_size(coding->dtype);

    memset(raws, 0xAA, sizeof raws);
    for (int p = 0; p < SOURCES; p++) {
        make_source(coding, piece, p);
        memcpy(raws[p] + piece->raw, buffers[p] + 1 + piece->first * size, piece->count * size);
    }
}

/* Sets the sources as ARRANGEMENT says; returns the buffer, if one is, at so many bytes from where
 * elements are aligned. */
static const void *arrange(const struct arrangement *arrangement, struct cgx_coding *coding,
                           size_t misalignment)
{
    coding->first_raw = arrangement->first_raw;
    coding->raws = arrangement->raws;
    for (size_t p = 0; p < arrangement->nsources; p++)
        sources[p] = p - arrangement->first_raw < arrangement->raws ? raws[p] : payloads[p];
    if (arrangement->own >= arrangement->nsources)
        return NULL;
    sources[arrangement->own] = NULL;
    memcpy(moved + misalignment, buffers[arrangement->own] + 1,
           COUNT * cgx_dtype_size(coding->dtype));
    return moved + misalignment;
}

static bool is_raw_same(const struct cgx_codec *codec, const struct cgx_coding *coding,
                        const struct cgx_piece *piece, size_t nsources, const void *buffer)
{
    memset(results, 0xAA, sizeof results);
    reference_reduce(coding, piece, sources, nsources, buffer, results[0]);
    return data_sum(codec, CGX_REDUCE, coding, piece, sources, nsources, buffer, results[1]) ==
               CGX_OK &&
           memcmp(results[1], results[0], BYTES) == 0;
}

/* The samples are those of the sum as the elements of a buffer. */
static bool is_raw_measured(const struct cgx_codec *codec, const struct cgx_coding *coding,
                            const struct cgx_piece *piece, size_t nsources, const void *buffer)
{
    const struct cgx_piece alone = {.count = piece->count, .bits = 8};
    const unsigned char *const own[] = {NULL};
    struct cgx_sample samples[2][COUNT / 64];
    struct cgx_coding plain = *coding;
    float steps;

    for (size_t i = 0; i < piece->count; i++)
        values[i] = reference_sum(coding, piece, sources, nsources, buffer, i, &steps);
    plain.dtype = CGX_FLOAT32;
    plain.raws = 0;
    memset(samples, 0xAA, sizeof samples);
    return data_sum(codec, CGX_MEASURE, &plain, &alone, own, 1, values, samples[0]) == CGX_OK &&
           data_sum(codec, CGX_MEASURE, coding, piece, sources, nsources, buffer, samples[1]) ==
               CGX_OK &&
           memcmp(samples[0], samples[1], sizeof *samples) == 0;
}

static void test_raw(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    struct cgx_coding coding = {.dtype = dtype, .bucket_size = 128, .call = 3, .stream = 9};
    bool same = true, measured = true;

    for (unsigned bits = 1; bits <= 32; bits = data_next_width(bits)) {
        const struct cgx_piece piece = raw_piece(bits);

        make_raws(&coding, &piece);
        for (size_t i = 0; i < ARRANGEMENTS; i++) {
            size_t nsources = arrangements[i].nsources;
            const void *buffer = arrange(&arrangements[i], &coding, i % 5);

            same = same && is_raw_same(codec, &coding, &piece, nsources, buffer);
            if (bits != CGX_BITS_EXACT)
                measured = measured && is_raw_measured(codec, &coding, &piece, nsources, buffer);
        }
    }
    ok(same, "%s: %s: raw sources in any place", codec->name, data_dtypes[dtype]);
    ok(measured, "%s: %s: the samples of sums with raw sources", codec->name, data_dtypes[dtype]);
}

static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    test_payloads(codec, dtype);
    test_raw(codec, dtype);
}

/* The header of the sum of a raw source and, if there are two, the buffer: 64 elements like 0 to
 * TOP, and LAST. */
static uint32_t raw_header(enum cgx_dtype dtype, size_t nsources, float top, float last)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64, .raws = 1};
    const struct cgx_piece piece = {.count = 64, .bits = 8, .raw = 16};
    uint32_t header;

    for (int i = 0; i < 64; i++)
        reference_narrow(dtype, i == 63 ? last : top * (float)i / 63, raws[0] + 16, (size_t)i);
    sources[0] = raws[0];
    sources[1] = NULL;
    data_sum(cgx_codec_host(), CGX_REDUCE, &coding, &piece, sources, nsources, raws[0] + 16,
             results[0]);
    memcpy(&header, results[0], sizeof header);
    return header;
}

static void test_raw_poison(enum cgx_dtype dtype)
{
    bool poisons = raw_header(dtype, 1, 1, NAN) == CGX_BUCKET_POISON &&
                   raw_header(dtype, 1, 1, INFINITY) == CGX_BUCKET_POISON &&
                   raw_header(dtype, 2, 1, -INFINITY) == CGX_BUCKET_POISON;

    if (dtype != CGX_FLOAT16)
        poisons = poisons && raw_header(dtype, 1, 1, -0x1p125f) == CGX_BUCKET_POISON &&
                  raw_header(dtype, 2, 1, 0x1p124f) == CGX_BUCKET_POISON &&
                  raw_header(dtype, 1, 1, 0x1.FEp124f) != CGX_BUCKET_POISON;
    else /* 65504, of no steps; a payload of it would have some */
        poisons = poisons && raw_header(dtype, 2, 32752, 32752) != CGX_BUCKET_POISON &&
                  raw_header(dtype, 2, 32768, 32768) == CGX_BUCKET_POISON;
    ok(poisons, "%s: raw elements poison a bucket as those of the buffer do", data_dtypes[dtype]);
}

/* ---- ranges ---- */

/* The header of the sum of NSOURCES payloads, each of 64 elements like ELEMENTS. */
static uint32_t sum_header(const struct cgx_coding *coding, const void *elements, size_t nsources,
                           unsigned bits)
{
    const struct cgx_piece piece = {.count = 64, .bits = bits};
    uint32_t header;

    for (size_t p = 0; p < nsources; p++) {
        data_code(cgx_codec_host(), CGX_ENCODE, coding, &piece, elements, payloads[p]);
        sources[p] = payloads[p];
    }
    data_sum(cgx_codec_host(), CGX_REDUCE, coding, &piece, sources, nsources, NULL, results[0]);
    memcpy(&header, results[0], sizeof header);
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
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, results[0], values);
    for (int i = 0; i < 64; i++)
        exact = exact && values[i] == 7;
    ok(exact, "seven sources of ones sum to seven exactly");
}

/* Two sources with the greatest element TOP: sums near 65520, where float16 overflows. */
static bool overflows(enum cgx_dtype dtype, float top, bool constant)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64};
    uint16_t elements[64];

    for (int i = 0; i < 64; i++)
        reference_narrow(dtype, constant ? top : top * (float)i / 63, elements, (size_t)i);
    return sum_header(&coding, elements, 2, 8) == CGX_BUCKET_POISON;
}

static void test_overflow(void)
{
    ok(overflows(CGX_FLOAT16, 32768, true) && overflows(CGX_FLOAT16, -32768, true),
       "a float16 sum beyond the type's range poisons its bucket");
    ok(!overflows(CGX_FLOAT16, 32752, true), "one just within does not");
    /* Both sources have steps of 129, so that 130 are allowed for. */
    ok(overflows(CGX_FLOAT16, 32704, false),
       "one that may be beyond, given the steps of its sources, poisons");
    ok(!overflows(CGX_FLOAT16, 32576, false), "one that cannot be beyond does not");
    ok(!overflows(CGX_BFLOAT16, 32768, false), "bfloat16 has no such limit at 65520");
}

static void test_limit(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};

    data_fill(DATA_UNIFORM, 1, values, 64);
    values[9] = 0x1p124f;
    ok(sum_header(&coding, values, 1, 4) != CGX_BUCKET_POISON &&
           sum_header(&coding, values, 2, 4) == CGX_BUCKET_POISON,
       "a float32 sum of 2^125 or more poisons its bucket");
    /* At 1 bit the levels are 0 and twice this, and both ends are rounded to 0: the sources sum
     * to 0, and exactly to 2^127. */
    for (int i = 0; i < 64; i++)
        values[i] = i % 2 == 0 ? 0x1p124f : -0x1p124f;
    ok(sum_header(&coding, values, 3, 1) != CGX_BUCKET_POISON &&
           sum_header(&coding, values, SOURCES, 1) == CGX_BUCKET_POISON,
       "so does one that the steps of its sources may have hidden");
}

int main(void)
{
    data_test_all(test_set);
    for (int dtype = 0; dtype < 3; dtype++)
        test_raw_poison((enum cgx_dtype)dtype);
    test_ones();
    test_overflow();
    test_limit();
    return done_testing();
}
