/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Reducing: decode each source, sum in float32 in the order given, encode, in one operation. */

#include <stdlib.h>
#include <string.h>

#include "codec_data.h"
#include "codec_reference.h"
#include "lib/tap.h"

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
    same = codec->reduce(coding, piece, 1, sources, nsources, buffer, out) == CGX_OK &&
           memcmp(out, results[0], bytes) == 0 &&
           memcmp(out + bytes, before + bytes, BYTES - bytes) == 0;
    memcpy(out, before, BYTES);
    return same;
}

static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype,
                     enum cgx_rounding rounding)
{
    const struct cgx_coding coding = {.dtype = dtype,
                                      .bucket_size = 128,
                                      .rounding = rounding,
                                      .seed = 3,
                                      .call = 2,
                                      .stream = 1};
    const char *name = rounding == CGX_ROUNDING_NEAREST ? "nearest" : "stochastic";
    bool same = true, own = true, in_place = true;

    for (unsigned bits = rounding == CGX_ROUNDING_NEAREST ? 1 : 2; bits <= 32;
         bits += bits < 8 ? 1 : 24) {
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
    ok(same, "%s: %s, %s: the bytes of decode, sum, encode", codec->name, data_dtypes[dtype], name);
    ok(own, "%s: %s, %s: unquantised elements in any place", codec->name, data_dtypes[dtype], name);
    ok(in_place, "%s: %s, %s: the result may replace a source", codec->name, data_dtypes[dtype],
       name);
}

/* The header of the sum of NSOURCES payloads, each of 64 elements like ELEMENTS. */
static uint32_t sum_header(const struct cgx_coding *coding, const void *elements, size_t nsources,
                           unsigned bits)
{
    const struct cgx_piece piece = {.count = 64, .bits = bits};
    uint32_t header;

    for (size_t p = 0; p < nsources; p++) {
        cgx_codec_host()->encode(coding, &piece, 1, elements, payloads[p]);
        sources[p] = payloads[p];
    }
    cgx_codec_host()->reduce(coding, &piece, 1, sources, nsources, NULL, results[0]);
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
    cgx_codec_host()->decode(&coding, &piece, 1, results[0], values);
    for (int i = 0; i < 64; i++)
        exact = exact && values[i] == 7;
    ok(exact, "seven sources of ones sum to seven exactly");
}

/* Two sources with the greatest element TOP: sums near 65520, where float16 overflows. */
static bool overflows(enum cgx_dtype dtype, enum cgx_rounding rounding, float top, bool constant)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64, .rounding = rounding};
    uint16_t elements[64];

    for (int i = 0; i < 64; i++)
        reference_narrow(dtype, constant ? top : top * (float)i / 63, elements, (size_t)i);
    return sum_header(&coding, elements, 2, 8) == CGX_BUCKET_POISON;
}

static void test_overflow(void)
{
    ok(overflows(CGX_FLOAT16, CGX_ROUNDING_NEAREST, 32768, true) &&
           overflows(CGX_FLOAT16, CGX_ROUNDING_NEAREST, -32768, true),
       "a float16 sum beyond the type's range poisons its bucket");
    ok(!overflows(CGX_FLOAT16, CGX_ROUNDING_NEAREST, 32752, true), "one just within does not");
    /* Both sources have steps of 129, so that 130 are allowed for. */
    ok(overflows(CGX_FLOAT16, CGX_ROUNDING_NEAREST, 32704, false),
       "one that may be beyond, given the steps of its sources, poisons");
    ok(!overflows(CGX_FLOAT16, CGX_ROUNDING_NEAREST, 32576, false),
       "one that cannot be beyond does not");
    ok(overflows(CGX_FLOAT16, CGX_ROUNDING_STOCHASTIC, 32688, false) &&
           !overflows(CGX_FLOAT16, CGX_ROUNDING_NEAREST, 32640, false) &&
           overflows(CGX_FLOAT16, CGX_ROUNDING_STOCHASTIC, 32640, false),
       "stochastic rounding allows for twice as much");
    ok(!overflows(CGX_BFLOAT16, CGX_ROUNDING_NEAREST, 32768, false),
       "bfloat16 has no such limit at 65520");
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
    for (int s = 0; s < DATA_SETS; s++) {
        const struct cgx_codec *codec = data_codec(s);

        if (codec == NULL)
            continue;
        for (int dtype = 0; dtype < 3; dtype++) {
            test_set(codec, (enum cgx_dtype)dtype, CGX_ROUNDING_NEAREST);
            test_set(codec, (enum cgx_dtype)dtype, CGX_ROUNDING_STOCHASTIC);
        }
    }
    test_ones();
    test_overflow();
    test_limit();
    return done_testing();
}
