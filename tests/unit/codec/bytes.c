/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The bytes of the format: messages, layouts and small payloads written out by hand from
 * doc/format.md. sets.c has checksums of larger ones. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static void test_message(void)
{
    static const unsigned char golden[48] = {10,   0x41, 0x34, 0x12, 0xEF,        0xCD,       0xAB,
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
        refused = refused && (cgx_message_read(header, &read) == CGX_OK) == (version == 10);
    }
    ok(refused, "a message of another version is refused");
    header[0] = 10;
    for (unsigned flags = 0; flags < 256; flags++) {
        header[1] = (unsigned char)flags;
        refused = refused && (cgx_message_read(header, &read) == CGX_OK) ==
                                 ((flags & 31) <= 16 && flags < 3 << 5);
    }
    ok(refused, "a message with unknown flags, or another type, is refused");
}

static void test_layout(void)
{
    struct cgx_layout layout = cgx_piece_layout(1000, 7, 512, CGX_FLOAT32);

    ok(layout.buckets == 2 && layout.elements == 1024 && layout.plane[0] == 16 &&
           layout.plane[1] == 16 + 512 && layout.plane[2] == 16 + 512 + 256 &&
           layout.bytes == 16 + 512 + 256 + 128,
       "1000 elements at 7 bits lie where they should");
    layout = cgx_piece_layout(64 * 5, 2, 64, CGX_FLOAT16);
    ok(layout.buckets == 5 && layout.plane[0] == 32 && layout.plane[1] == 32 &&
           layout.plane[2] == 32 + 80 && layout.bytes == 32 + 80,
       "a slice that the width lacks has the offset of the next part");
    ok(cgx_piece_layout(33, 1, 64, CGX_FLOAT32).bytes == 32 &&
           cgx_piece_layout(9, 32, 64, CGX_BFLOAT16).bytes == 32,
       "every part is padded to a multiple of 16 bytes");
    ok(cgx_piece_layout(5000, CGX_UNIFORM + 2, 512, CGX_BFLOAT16).bytes == 128 + 79 * 80 + 16,
       "5000 elements of a uniform piece are 5 groups, of 79 blocks");
}

/* Whether one piece of VALUES encodes to GOLDEN, the rest of BYTES being zero. */
static bool encodes_to(const void *values, enum cgx_dtype dtype, size_t count, unsigned bits,
                       const unsigned char *golden, size_t length, size_t bytes)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64};
    const struct cgx_piece piece = {.count = count, .bits = bits};
    unsigned char payload[512] __attribute__((aligned(16))), expected[512] = {0};

    memset(payload, 0xAA, sizeof payload);
    memset(expected + bytes, 0xAA, sizeof expected - bytes);
    memcpy(expected, golden, length);
    return data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payload) == CGX_OK &&
           memcmp(payload, expected, sizeof payload) == 0;
}

static void test_grids(void)
{
    static const unsigned char one[] = {0, 0, 0x80, 0x3F}; /* u = 1, z = 0 */
    static const unsigned char one_two[] = {0, 0, 0x80, 0x3F, 0, 0, 0, 0x40};
    float values[128];
    unsigned char golden[160] = {0xF8, 0xFF, 0x80, 0x3F}; /* u = 1, z = -8 */

    for (int i = 0; i < 64; i++)
        values[i] = (float)(i % 16 - 8);
    for (int i = 0; i < 32; i++)
        golden[16 + i] = (unsigned char)(0x10 + 0x22 * (i % 8));
    ok(encodes_to(values, CGX_FLOAT32, 64, 4, golden, 48, 48), "a bucket at 4 bits has its bytes");

    memset(golden, 0, sizeof golden);
    memcpy(golden, one, sizeof one);
    for (int i = 0; i < 64; i++)
        values[i] = (float)(i % 8);
    memset(golden + 16, 0xE4, 16); /* 0, 1, 2, 3 */
    memset(golden + 32, 0xF0, 8);
    ok(encodes_to(values, CGX_FLOAT32, 64, 3, golden, 40, 48), "a bucket at 3 bits has its bytes");

    memset(golden, 0, sizeof golden);
    memcpy(golden, one_two, sizeof one_two);
    for (int i = 0; i < 66; i++) {
        values[i] = (float)(i < 64 ? 2 * i : (i - 64) * 254);
        if (i == 63)
            values[i] = 127;
    }
    for (int i = 0; i < 32; i++) { /* bits 0-3, 4-5 and 6 of 2i, the last of 127 */
        unsigned low = 4 * (unsigned)i, high = low + 2;

        golden[16 + i] = (unsigned char)((low & 15) | (high & 15) << 4);
        golden[16 + 64 + i / 2] |=
            (unsigned char)(((low >> 4 & 3) | (high >> 4 & 3) << 2) << i % 2 * 4);
        golden[16 + 64 + 32 + i / 4] |= (unsigned char)((low >> 6) * 3 << i % 4 * 2);
    }
    golden[16 + 31] |= 0xF0;
    golden[16 + 32] = 0xF0;        /* 0, 127 */
    golden[16 + 64 + 16] = 3 << 2; /* of the second bucket, likewise */
    golden[16 + 64 + 32 + 8] = 1 << 1;
    ok(encodes_to(values, CGX_FLOAT32, 66, 7, golden, 16 + 64 + 32 + 16, 16 + 64 + 32 + 16),
       "two buckets at 7 bits, the second incomplete, have their bytes");
}

static void test_special(void)
{
    float values[64];
    static const unsigned char one_bit[17] = {0, 0, 0x80, 0x40, [16] = 0x06};
    static const unsigned char constant[20] = {[16] = 0x00, 0x00, 0x20, 0xC0};
    static const unsigned char poison[4] = {0x00, 0x00, 0xC0, 0x7F};
    static const uint16_t halves[3] = {0x3C00, 0x8000, 0x7E01};
    static const unsigned char exact[6] = {0x00, 0x3C, 0x00, 0x80, 0x01, 0x7E};

    values[0] = 0;
    values[1] = values[2] = 4;
    ok(encodes_to(values, CGX_FLOAT32, 3, 1, one_bit, 17, 32),
       "three elements at 1 bit have their bytes");
    for (int i = 0; i < 64; i++)
        values[i] = -2.5f;
    ok(encodes_to(values, CGX_FLOAT32, 64, 2, constant, 20, 32),
       "a constant bucket has its value in its first slice");
    for (int i = 0; i < 64; i++)
        values[i] = i % 2 ? 0.0f : -0.0f;
    ok(encodes_to(values, CGX_FLOAT32, 64, 5, constant, 0, 64), "zeros of both signs are a +0");
    values[63] = -INFINITY;
    ok(encodes_to(values, CGX_FLOAT32, 64, 8, poison, 4, 80), "a poisoned bucket has zero codes");
    ok(encodes_to(halves, CGX_FLOAT16, 3, 32, exact, 6, 16),
       "elements at width 32 are as they were, and padded");
}

int main(void)
{
    test_message();
    test_layout();
    test_grids();
    test_special();
    return done_testing();
}
