/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Quantisation with residuals, by both families: every set of kernels leaves the payloads and
 * residuals that are specified, call after call, when it encodes and when it reduces, and errors do
 * not add up. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/family_reference.h"
#include "unit/lib/rotated_data.h"

#define COUNT (2 * 4096 + 700) /* the last bucket is incomplete */
#define FIRST 8192             /* of the piece in the caller's buffer */
#define KEPT 4096              /* the element that residuals begin with */
#define CALLS 4
#define SOURCES 2

#define ROTATED_MOST ((ROTATED_KINDS + 2) * 1024)
#define ROTATED_FIRST 3072
#define ROTATED_KEPT 2048
#define ROTATED_CALLS 3
#define ROTATED_SOURCES 3

static unsigned char elements[4 * (ROTATED_FIRST + ROTATED_MOST) + 1];
static unsigned char payloads[ROTATED_SOURCES][4 * COUNT] __attribute__((aligned(16)));
static unsigned char results[2][4 * COUNT] __attribute__((aligned(16)));
static uint16_t residuals[2][ROTATED_FIRST - ROTATED_KEPT + ROTATED_MOST]
    __attribute__((aligned(16)));

/* The second result and residuals become WORK's, and are then the reference's, the first. */
static bool is_left_the_same(const struct cgx_codec *codec, const struct cgx_work *work)
{
    return cgx_codec_run(codec, work) == CGX_OK &&
           memcmp(results[0], results[1], sizeof results[0]) == 0 &&
           memcmp(residuals[0], residuals[1], sizeof residuals[0]) == 0;
}

/* ---- max-min quantisation ---- */

static float values[FIRST + COUNT], levels[FIRST + COUNT];

/* Adds the reference's residuals of a bucket to its values. Returns whether these are not zeros. */
static bool add_residuals(float *x, const uint16_t *kept, size_t count, size_t size)
{
    float all[2][4096] = {{0}}, nx, nr, cap;

    for (size_t i = 0; i < count; i++) {
        all[0][i] = x[i];
        all[1][i] = reference_widen(CGX_BFLOAT16, kept, i);
    }
    nx = reference_square_sum(all[0], size);
    nr = reference_square_sum(all[1], size);
    cap = !(nx > 0) || nr == INFINITY ? 0 : nr / 16.0 <= nx ? 1 : sqrtf(16 * nx / nr);
    for (size_t i = 0; i < count; i++)
        x[i] = fmaf(cap, all[1][i], x[i]);
    return nx != 0;
}

/* Encodes VALUES of the piece, and residuals, into the reference's result. */
static void expect(const struct cgx_coding *of_call, const struct cgx_piece *piece)
{
    struct cgx_coding coding = *of_call;
    bool changes[COUNT / 64 + 1];

    coding.dtype = CGX_FLOAT32;
    for (size_t at = 0; at < COUNT; at += coding.bucket_size) {
        size_t n = COUNT - at < coding.bucket_size ? COUNT - at : coding.bucket_size;

        changes[at / coding.bucket_size] = add_residuals(
            values + FIRST + at, residuals[0] + FIRST - KEPT + at, n, coding.bucket_size);
    }
    reference_encode(&coding, piece, values, results[0]);
    reference_decode(&coding, piece, results[0], levels);
    for (size_t i = FIRST; i < FIRST + COUNT; i++)
        if (!isnan(levels[i]) && changes[(i - FIRST) / coding.bucket_size])
            reference_narrow(CGX_BFLOAT16, values[i] - levels[i], residuals[0], i - KEPT);
}

static void make_elements(enum cgx_dtype dtype, enum data_kind kind, uint64_t seed)
{
    for (size_t i = 0; i < FIRST + COUNT; i++) {
        float value = data_value(kind, &seed);

        reference_narrow(dtype, dtype == CGX_FLOAT16 ? fmodf(value, 8000) : value, elements + 1, i);
    }
}

static bool encodes(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece)
{
    const struct cgx_work work = {CGX_ENCODE,
                                  coding,
                                  piece,
                                  1,
                                  .in = elements + 1,
                                  .out = results[1],
                                  .residuals = {residuals[1], KEPT}};

    for (size_t i = FIRST; i < FIRST + COUNT; i++)
        values[i] = reference_widen(coding->dtype, elements + 1, i);
    expect(coding, piece);
    return is_left_the_same(codec, &work);
}

/* A payload and the buffer. */
static bool reduces(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece)
{
    const unsigned char *sources[SOURCES] = {payloads[0], NULL};
    const struct cgx_work work = {CGX_REDUCE,
                                  coding,
                                  piece,
                                  1,
                                  sources,
                                  SOURCES,
                                  .in = elements + 1,
                                  .out = results[1],
                                  .residuals = {residuals[1], KEPT}};

    reference_encode(coding, piece, elements + 1, payloads[0]);
    for (size_t i = 0; i < COUNT; i++)
        values[FIRST + i] = 0.0f + reference_sum(coding, piece, sources, SOURCES, elements + 1, i);
    expect(coding, piece);
    return is_left_the_same(codec, &work);
}

static bool is_same(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned bucket_size,
                    unsigned bits, enum data_kind kind)
{
    const struct cgx_piece piece = {.first = FIRST, .count = COUNT, .bits = bits};
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = bucket_size};
    static const float scales[] = {8, 0.1f, 0x1p113f, 0x1p-113f};
    bool same = true;

    data_fill(DATA_UNIFORM, bits, values, COUNT);
    for (size_t i = 0; i < FIRST - KEPT + COUNT; i++)
        residuals[0][i] = cgx_to_bfloat16(values[i % COUNT] * scales[i / 512 % 4]);
    memcpy(residuals[1], residuals[0], sizeof residuals[0]);
    for (uint64_t call = 0; call < CALLS && same; call++) {
        memset(results, 0, sizeof results);
        make_elements(dtype, kind, call + bits);
        same = encodes(codec, &coding, &piece) && reduces(codec, &coding, &piece);
    }
    return same;
}

static void test_cap(void)
{
    ok(cgx_residual_cap(1, 16) == 1 && cgx_residual_cap(1, 64) == 0.5f,
       "no more is added than four times what there is");
    ok(cgx_residual_cap(0x1p-149f, 0x1p-143f) == 0.5f &&
           cgx_residual_cap(0x1p127f, 0x1.fffffep127f) == 1,
       "of the least and greatest squares too");
    ok(cgx_residual_cap(1, INFINITY) == 0 && cgx_residual_cap(INFINITY, INFINITY) == 0 &&
           cgx_residual_cap(0, 1) == 0 && cgx_residual_cap(0, 0) == 0,
       "and nothing where squares are beyond a float, or vanish");
}

/* Pieces of 1 bit and exact ones have none. */
static void test_none(unsigned bits, const char *name)
{
    const struct cgx_piece piece = {.first = FIRST, .count = COUNT, .bits = bits};
    const struct cgx_coding coding = {.bucket_size = 512};
    struct cgx_work work = {CGX_ENCODE, &coding, &piece, 1, .in = elements + 1, .out = results[0]};
    bool encoded;

    make_elements(CGX_FLOAT32, DATA_GAUSSIAN, 3);
    memset(residuals[0], 0x11, sizeof residuals[0]);
    memcpy(residuals[1], residuals[0], sizeof residuals[0]);
    memset(results, 0, sizeof results);
    encoded = cgx_codec_run(cgx_codec_host(), &work) == CGX_OK;
    work.out = results[1];
    work.residuals = (struct cgx_residuals){residuals[1], KEPT};
    ok(encoded && is_left_the_same(cgx_codec_host(), &work),
       "%s: residuals are neither used nor changed", name);
}

/* Of the same elements in each call. */
static void test_no_drift(unsigned bits)
{
    const struct cgx_piece piece = {.count = COUNT, .bits = bits};
    const struct cgx_coding coding = {.bucket_size = 512};
    static float same[COUNT], decoded[COUNT], apart[COUNT];
    double length = 0, drift = 0;

    data_fill(DATA_GAUSSIAN, 4, same, COUNT);
    memset(residuals, 0, sizeof residuals);
    memset(apart, 0, sizeof apart);
    for (int call = 0; call < 300; call++) {
        struct cgx_work work = {CGX_ENCODE,
                                &coding,
                                &piece,
                                1,
                                .in = same,
                                .out = results[0],
                                .residuals = {residuals[0], 0}};

        cgx_codec_run(cgx_codec_host(), &work);
        work.operation = CGX_DECODE;
        work.in = results[0];
        work.out = decoded;
        cgx_codec_run(cgx_codec_host(), &work);
        for (size_t i = 0; i < COUNT; i++)
            apart[i] += decoded[i] - same[i];
    }
    for (size_t i = 0; i < COUNT; i++) {
        length += (double)same[i] * same[i];
        drift += (double)apart[i] * apart[i];
    }
    ok(drift < length, "%u bits: what is decoded lacks %.3f of the elements of one call after 300",
       bits, sqrt(drift / length));
}

/* ---- rotated quantisation ---- */

static const struct cgx_residuals reference_kept = {residuals[0], ROTATED_KEPT};
static const struct cgx_residuals kept = {residuals[1], ROTATED_KEPT};

/* Residuals of many sizes, the first buckets' shorter than any element, all of them finite. */
static void make_residuals(unsigned seed)
{
    static const float sizes[] = {0, 0x1p-60f, 0x1p-3f, 0.4f, 1, 7, 0x1p20f, 0x1p60f, 0x1p126f};
    static float uniform[ROTATED_FIRST - ROTATED_KEPT + ROTATED_MOST];

    data_fill(DATA_UNIFORM, seed, uniform, sizeof uniform / sizeof *uniform);
    for (size_t i = 0; i < sizeof uniform / sizeof *uniform; i++)
        residuals[0][i] = cgx_to_bfloat16(uniform[i] * sizes[(i / 1024 + seed) % 9]);
    memcpy(residuals[1], residuals[0], sizeof residuals[0]);
}

static void make_rotated(enum cgx_dtype dtype, unsigned kind, size_t count)
{
    rotated_elements(dtype, kind, kind, 1024, count,
                     elements + 1 + ROTATED_FIRST * cgx_dtype_size(dtype));
}

static bool rotated_encodes(const struct cgx_codec *codec, const struct cgx_coding *coding,
                            const struct cgx_piece *piece)
{
    const struct cgx_work work = {CGX_ENCODE,        coding,           piece, 1, .in = elements + 1,
                                  .out = results[1], .residuals = kept};

    rotated_reference_encode_kept(coding, piece, elements + 1, &reference_kept, results[0]);
    return is_left_the_same(codec, &work);
}

/* A payload, the buffer, and another payload. */
static bool rotated_reduces(const struct cgx_codec *codec, const struct cgx_coding *coding,
                            const struct cgx_piece *piece)
{
    const unsigned char *sources[ROTATED_SOURCES] = {payloads[0], NULL, payloads[2]};
    const struct cgx_work work = {
        CGX_REDUCE,        coding,           piece, 1, sources, ROTATED_SOURCES, .in = elements + 1,
        .out = results[1], .residuals = kept};

    rotated_reference_reduce_kept(coding, piece, sources, ROTATED_SOURCES, elements + 1,
                                  &reference_kept, results[0]);
    return is_left_the_same(codec, &work);
}

static void make_sources(const struct cgx_coding *coding, const struct cgx_piece *piece,
                         unsigned kind)
{
    for (unsigned p = 0; p < ROTATED_SOURCES; p++) {
        make_rotated(coding->dtype, kind + p * 7, piece->count);
        reference_encode(coding, piece, elements + 1, payloads[p]);
    }
}

/* A few calls of both operations on the same residuals. */
static bool is_rotated_same(const struct cgx_codec *codec, enum cgx_dtype dtype, size_t count,
                            unsigned width, unsigned kind)
{
    const struct cgx_piece piece = {
        .first = ROTATED_FIRST, .count = count, .bits = CGX_ROTATED + width};
    bool same = true;

    for (uint32_t call = 0; call < ROTATED_CALLS && same; call++) {
        const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64, .call = call};

        memset(results, 0xAA, sizeof results);
        make_sources(&coding, &piece, kind + call / 2);
        same = rotated_encodes(codec, &coding, &piece) && rotated_reduces(codec, &coding, &piece);
    }
    return same;
}

static void test_rotated(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    static const size_t counts[] = {(ROTATED_KINDS + 1) * 1024, 1, 63, 1023, 1024, 2 * 1024 + 513};
    unsigned kind = 0;
    bool same = true;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++, kind++) {
            make_residuals(kind);
            if (is_rotated_same(codec, dtype, counts[i], width, kind))
                continue;
            if (same)
                diag("first at %u bits, %zu elements, the first of kind %u", width, counts[i],
                     kind % ROTATED_KINDS);
            same = false;
        }
    ok(same, "%s: %s, rotated: the payloads and residuals of the specification", codec->name,
       data_dtypes[dtype]);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        for (int dtype = 0; codec != NULL && dtype < 3; dtype++) {
            data_test_widths(codec, (enum cgx_dtype)dtype, CGX_RESIDUAL_BITS, is_same,
                             "payloads and residuals");
            test_rotated(codec, (enum cgx_dtype)dtype);
        }
    }
    test_cap();
    test_none(1, "1 bit");
    test_none(CGX_BITS_EXACT, "not quantised");
    for (unsigned bits = 2; bits <= 8; bits++)
        test_no_drift(bits);
    return done_testing();
}
