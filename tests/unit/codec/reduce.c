/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Reducing: decode each source, sum in float32 in the order given, encode, in one operation. */

#include <stdlib.h>
#include <string.h>

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

/* Two sources of float16 like 0 to 40000: whatever the bucket's steps, what is far within the type
 * stays, and what is far beyond it is no number. */
static void test_overflow(void)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT16, .bucket_size = 64};
    const struct cgx_piece piece = {.count = 64, .bits = 8};
    uint16_t elements[64];
    bool good;

    for (int i = 0; i < 64; i++)
        reference_narrow(CGX_FLOAT16, 40000 * (float)i / 63, elements, (size_t)i);
    good = sum_header(&coding, elements, 2, 8) != CGX_BUCKET_POISON;
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, results[0], elements);
    for (int i = 0; i < 64; i++) {
        float sum = 80000 * (float)i / 63, got = reference_widen(CGX_FLOAT16, elements, (size_t)i);

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
    data_test_all(test_payloads);
    test_ones();
    test_overflow();
    test_limit();
    return done_testing();
}
