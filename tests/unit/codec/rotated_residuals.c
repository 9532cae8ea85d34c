/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Rotated quantisation with residuals: every set of kernels leaves the payloads and residuals that
 * are specified, call after call, when it encodes and when it reduces. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/family_reference.h"
#include "unit/lib/rotated_data.h"

#define FIRST 3072 /* of the piece in the caller's buffer */
#define KEPT 2048  /* the element that residuals begin with */
#define MOST ((ROTATED_KINDS + 2) * 1024)
#define SOURCES 3
#define CALLS 3

static unsigned char elements[4 * (FIRST + MOST) + 1];
static unsigned char raw[4 * MOST] __attribute__((aligned(16)));
static unsigned char payloads[SOURCES][MOST] __attribute__((aligned(16)));
static unsigned char results[2][MOST] __attribute__((aligned(16)));
static uint16_t residuals[2][FIRST - KEPT + MOST] __attribute__((aligned(16)));

static const struct cgx_residuals reference_kept = {residuals[0], KEPT};
static const struct cgx_residuals kept = {residuals[1], KEPT};

/* Residuals of many sizes, the first buckets' shorter than any element, all of them finite. */
static void make_residuals(unsigned seed)
{
    static const float sizes[] = {0, 0x1p-60f, 0x1p-3f, 0.4f, 1, 7, 0x1p20f, 0x1p60f, 0x1p126f};
    static float values[FIRST - KEPT + MOST];

    data_fill(DATA_UNIFORM, seed, values, sizeof values / sizeof *values);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        residuals[0][i] = cgx_to_bfloat16(values[i] * sizes[(i / 1024 + seed) % 9]);
    memcpy(residuals[1], residuals[0], sizeof residuals[0]);
}

static void make_elements(enum cgx_dtype dtype, unsigned kind, size_t count)
{
    rotated_elements(dtype, kind, kind, 1024, count, elements + 1 + FIRST * cgx_dtype_size(dtype));
}

static bool is_left_the_same(void)
{
    return memcmp(results[0], results[1], sizeof results[0]) == 0 &&
           memcmp(residuals[0], residuals[1], sizeof residuals[0]) == 0;
}

static bool encodes(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece)
{
    const struct cgx_work work = {CGX_ENCODE,        coding,           piece, 1, .in = elements + 1,
                                  .out = results[1], .residuals = kept};

    rotated_reference_encode_kept(coding, piece, elements + 1, &reference_kept, results[0]);
    return cgx_codec_run(codec, &work) == CGX_OK && is_left_the_same();
}

/* A payload, the buffer or what is raw, and another payload. */
static bool reduces(const struct cgx_codec *codec, const struct cgx_coding *of_call,
                    const struct cgx_piece *piece, bool is_raw)
{
    const unsigned char *sources[SOURCES] = {payloads[0], is_raw ? raw : NULL, payloads[2]};
    struct cgx_coding coding = *of_call;
    const struct cgx_work work = {
        CGX_REDUCE,        &coding,          piece, 1, sources, SOURCES, .in = elements + 1,
        .out = results[1], .residuals = kept};

    coding.first_raw = 1;
    coding.raws = is_raw;
    rotated_reference_reduce_kept(&coding, piece, sources, SOURCES, elements + 1, &reference_kept,
                                  results[0]);
    return cgx_codec_run(codec, &work) == CGX_OK && is_left_the_same();
}

static void make_sources(const struct cgx_coding *coding, const struct cgx_piece *piece,
                         unsigned kind)
{
    size_t size = cgx_dtype_size(coding->dtype);

    for (unsigned p = 0; p < SOURCES; p++) {
        make_elements(coding->dtype, kind + p * 7, piece->count);
        reference_encode(coding, piece, elements + 1, payloads[p]);
    }
    memcpy(raw, elements + 1 + FIRST * size, piece->count * size);
}

/* A few calls of both operations on the same residuals. */
static bool is_same(const struct cgx_codec *codec, enum cgx_dtype dtype, bool least_squares,
                    size_t count, unsigned width, unsigned kind)
{
    const struct cgx_piece piece = {.first = FIRST, .count = count, .bits = CGX_ROTATED + width};
    bool same = true;

    for (uint32_t call = 0; call < CALLS && same; call++) {
        const struct cgx_coding coding = {.dtype = dtype,
                                          .bucket_size = 64,
                                          .least_squares = least_squares,
                                          .seed = 11ull << 40 | 5,
                                          .call = call};

        memset(results, 0xAA, sizeof results);
        make_sources(&coding, &piece, kind + call / 2);
        same = encodes(codec, &coding, &piece) && reduces(codec, &coding, &piece, call % 2 != 0);
    }
    return same;
}

static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype, bool least_squares)
{
    static const size_t counts[] = {(ROTATED_KINDS + 1) * 1024, 1, 63, 1023, 1024, 2 * 1024 + 513};
    unsigned kind = 0;
    bool same = true;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++, kind++) {
            make_residuals(kind);
            if (is_same(codec, dtype, least_squares, counts[i], width, kind))
                continue;
            if (same)
                diag("first at %u bits, %zu elements, the first of kind %u", width, counts[i],
                     kind % ROTATED_KINDS);
            same = false;
        }
    ok(same, "%s: %s, %s: the payloads and residuals of the specification", codec->name,
       data_dtypes[dtype], rotated_scales[least_squares]);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        for (int way = 0; codec != NULL && way < 6; way++)
            test_set(codec, (enum cgx_dtype)(way / 2), way % 2);
    }
    return done_testing();
}
