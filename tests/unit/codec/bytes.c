/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Bytes of the format that are written out by hand from doc/format.md: a message, two buckets, and
 * what histories learn from; sets.c compares all else with a reference. Headers of max-min
 * quantisation that no encoder writes are refused, and those that one may write are not;
 * tests/fuzz/decode has payloads of any bytes. */

#include <string.h>

#include "codec/history.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static void test_message(void)
{
    static const unsigned char golden[48] = {12,   0x41, 0x34, 0x12, 0xEF,        0xCD,       0xAB,
                                             0x89, 0x08, 0x07, 0x06, 0x05,        0x04,       0x03,
                                             0x02, 0x01, 0x5E, 0x7F, [46] = 0x80, [47] = 0x01};
    const struct cgx_message message = {CGX_MESSAGE_DECLINED,
                                        CGX_BFLOAT16,
                                        0x010203,
                                        0x1234,
                                        0x89ABCDEF,
                                        0x0405060708,
                                        {0x5E, 0x7F, [30] = 0x80, [31] = 0x01}};
    unsigned char header[48];
    struct cgx_message read = {0};
    bool refused = true;

    cgx_message_write(&message, header);
    ok(memcmp(header, golden, 48) == 0, "a message header has its bytes");
    ok(cgx_message_read(golden, &read) == CGX_OK && read.flags == message.flags &&
           read.dtype == message.dtype && read.elements == message.elements &&
           read.seq == message.seq && read.plan == message.plan && read.bytes == message.bytes &&
           memcmp(read.sketch, message.sketch, sizeof read.sketch) == 0,
       "a message header is read back");
    for (unsigned version = 0; version < 256; version++) {
        header[0] = (unsigned char)version;
        refused = refused && (cgx_message_read(header, &read) == CGX_OK) == (version == 12);
    }
    ok(refused, "a message of another version is refused");
    ok(cgx_message_bytes(golden, 47, 100) == 47, "a part of a header has no length");
    header[0] = 12;
    for (unsigned flags = 0; flags < 256; flags++) {
        header[1] = (unsigned char)flags;
        refused = refused && (cgx_message_read(header, &read) == CGX_OK) ==
                                 ((flags & 31) <= 16 && flags < 3 << 5);
    }
    ok(refused, "a message with unknown flags, or another type, is refused");
}

/* The codes of a grid of 4 bits, and of a constant bucket. */
static void test_buckets(void)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32};
    const struct cgx_piece piece = {.count = 256, .bits = 4};
    unsigned char payload[144] __attribute__((aligned(16))), golden[144] = {0xF8, 0xFF, 0x80, 0x3F};
    float values[256];

    for (int i = 0; i < 256; i++)
        values[i] = i < 128 ? (float)(i % 16 - 8) : -2.5f; /* u = 1, z = -8 */
    for (int i = 0; i < 64; i++)
        golden[16 + i] = (unsigned char)(0x10 + 0x22 * (i % 8));
    memcpy(golden + 80, (unsigned char[]){0x00, 0x00, 0x20, 0xC0}, 4);
    ok(data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payload) == CGX_OK &&
           memcmp(payload, golden, sizeof golden) == 0,
       "buckets at 4 bits have their bytes");
}

/* Buckets learn from sums whose squares add up to more than 2^-100 and less than 2^126. */
static void test_history(void)
{
    ok(cgx_history_is_known(0x1.fffffep125f) && cgx_history_is_known(0x1.000002p-100f) &&
           !cgx_history_is_known(0x1p126f) && !cgx_history_is_known(0x1p-100f) &&
           !cgx_history_is_known(0) && !cgx_history_is_known(INFINITY) &&
           !cgx_history_is_known(NAN),
       "a bucket learns from sums that are neither too small nor too large");
    /* Up to a multiple of 64 elements, and four bytes for each of 20 buckets. */
    ok(cgx_history_bytes(20011) == 20032 + 4 * 20, "a history has a byte for each element");
}

/* ---- headers ---- */

static const uint32_t refused_headers[] = {0x00000001u, 0x0000FFFFu, 0x00010000u, 0x007F0000u,
                                           0x7E810000u, 0x7F000000u, 0x7F7F0000u, 0x7F800000u,
                                           0x7FC00001u, 0x7FC10000u, 0x7FFF0000u, 0x80000000u,
                                           0x80800000u, 0xBF800000u, 0xFF800000u, 0xFFC00000u};
static const uint32_t accepted_headers[] = {0x00800000u, 0x00808000u, 0x3F807FFFu,
                                            0x7E80FFFFu, 0x7FC00000u, 0x00000000u};
static const uint32_t refused_constants[] = {0x7E000000u, 0xFE000000u, 0x7F800000u,
                                             0xFF800000u, 0x7FC00000u, 0xFFFFFFFFu};

/* Whether three buckets, the second with this HEADER and, in the codes' first bytes, CONSTANT, are
 * accepted, by decode and by reduce. */
static bool maxmin_accepts(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned bits,
                           uint32_t header, uint32_t constant)
{
    const struct cgx_coding coding = {.dtype = dtype};
    const struct cgx_piece piece = {.count = 300, .bits = bits};
    static unsigned char payload[512] __attribute__((aligned(16)));
    static unsigned char sum[512] __attribute__((aligned(16)));
    const unsigned char *sources[] = {NULL, payload};
    unsigned width = bits == 8 ? 8 : bits & 4 ? 4 : bits & 2 ? 2 : 1;
    enum cgx_status decoded, reduced;
    float values[300];

    data_fill(DATA_GAUSSIAN, 1, values, 300);
    for (size_t i = 0; i < 300; i++)
        data_store(dtype, values, i, values[i]);
    data_code(codec, CGX_ENCODE, &coding, &piece, values, payload);
    memcpy(payload + 4, &header, sizeof header);
    memcpy(payload + 16 + 16 * width, &constant, sizeof constant);
    reduced = data_sum(codec, CGX_REDUCE, &coding, &piece, sources, 2, values, sum);
    decoded = data_code(codec, CGX_DECODE, &coding, &piece, payload, values);
    if (decoded != reduced || (decoded != CGX_OK && decoded != CGX_ERR_FORMAT))
        bail_out("decode and reduce disagree on a header");
    return decoded == CGX_OK;
}

static void test_maxmin_headers(const struct cgx_codec *codec)
{
    bool refused = true, constants = true, accepted = true;

    for (unsigned bits = 1; bits <= 8; bits++)
        for (int dtype = 0; dtype < 3; dtype++) {
            for (size_t i = 0; i < sizeof refused_headers / sizeof *refused_headers; i++)
                refused = refused && !maxmin_accepts(codec, (enum cgx_dtype)dtype, bits,
                                                     refused_headers[i], 0);
            for (size_t i = 0; i < sizeof accepted_headers / sizeof *accepted_headers; i++)
                accepted = accepted && maxmin_accepts(codec, (enum cgx_dtype)dtype, bits,
                                                      accepted_headers[i], 0);
            for (size_t i = 0; i < sizeof refused_constants / sizeof *refused_constants; i++)
                constants = constants && !maxmin_accepts(codec, (enum cgx_dtype)dtype, bits, 0,
                                                         refused_constants[i]);
        }
    ok(refused, "%s: headers that no encoder writes are refused", codec->name);
    ok(constants, "%s: constants that no encoder writes are refused", codec->name);
    ok(accepted, "%s: the extremes of what an encoder writes are accepted", codec->name);
}

int main(void)
{
    test_message();
    test_buckets();
    test_history();
    for (int set = 0; set < DATA_SETS; set++)
        if (data_codec(set))
            test_maxmin_headers(data_codec(set));
    return done_testing();
}
