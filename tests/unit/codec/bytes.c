/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Bytes of the format that are written out by hand from doc/format.md: a message, two buckets, and
 * what histories learn from. sets.c compares all else with a reference. */

#include <string.h>

#include "codec/encoding.h"
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

int main(void)
{
    test_message();
    test_buckets();
    test_history();
    return done_testing();
}
