/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The bytes of rotated quantisation: layouts, buckets written out by hand from doc/format.md, a
 * call of pieces of all families, and checksums of larger payloads, which must never change within
 * a format version. */

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/rotated_data.h"

static void test_layout(void)
{
    static const size_t counts[] = {1, 1023, 1024, 1025, 4096, 4097, 100001};
    struct cgx_layout layout = cgx_piece_layout(5000, CGX_ROTATED + 3, 64, CGX_FLOAT16);
    bool alike = true;

    ok(layout.buckets == 5 && layout.plane[0] == 32 && layout.bytes == 32 + 5 * 128 * 3,
       "5000 elements at 3 bits are 5 buckets");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++)
            alike =
                alike && cgx_piece_layout(counts[i], CGX_ROTATED + width, 512, CGX_FLOAT32).bytes ==
                             reference_bytes(counts[i], CGX_ROTATED + width, 0, 0);
    ok(alike, "the bytes of a piece are those of the specification");
}

/* One element that is not zero: the rotated ones are all 1 or -1, with signs of the rows of H, and
 * element 0 turns its own with bit 0 of mix(key) in bucket 0. */
static void test_spike(void)
{
    const struct cgx_coding coding = {.bucket_size = 64};
    const struct cgx_piece piece = {.count = 1, .bits = CGX_ROTATED + 1};
    unsigned char bytes[16 + 128] __attribute__((aligned(16))), expected[16 + 128];
    const float step = 0x1.8ap-8f / 1024; /* 1 / 166 as a bfloat16, of the unit of sums */
    float one = 1;
    bool same;

    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, &one, bytes);
    memset(expected, 0, 16);
    memcpy(expected, &step, sizeof step);
    memset(expected + 16, bytes[16] & 1 ? 0xFF : 0x00, 128);
    same = memcmp(bytes, expected, sizeof bytes) == 0;
    one = -one;
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, &one, bytes);
    memset(expected + 16, ~expected[16], 128);
    ok(same && memcmp(bytes, expected, sizeof bytes) == 0,
       "a lone element has all codes alike, and the others with the other sign");
}

static void test_special(void)
{
    static const struct {
        float value;
        uint32_t header;
        const char *name;
    } cases[] = {{-0.0f, 0, "zeros have the header 0"},
                 {-INFINITY, CGX_BUCKET_POISON, "an infinity poisons its bucket"},
                 {NAN, CGX_BUCKET_POISON, "a NaN poisons its bucket"},
                 {0x1p-149f, 0, "what is too small for a header has the header 0"}};
    const struct cgx_coding coding = {.bucket_size = 64};
    unsigned char bytes[16 + 640] __attribute__((aligned(16))), expected[16 + 640] = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool same = true;

        memcpy(expected, &cases[i].header, 4);
        for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
            const struct cgx_piece piece = {.count = 1, .bits = CGX_ROTATED + width};

            memset(bytes, 0xAA, sizeof bytes);
            data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, &cases[i].value, bytes);
            same = same && memcmp(bytes, expected, 16 + (size_t)128 * width) == 0;
        }
        ok(same, "%s", cases[i].name);
    }
}

/* ---- pieces of all families in one call ---- */

#define COUNT 10240
#define PIECES 3

static float values[COUNT], decoded[2][COUNT];
static unsigned char payloads[3][4 * COUNT] __attribute__((aligned(16)));

/* Each alone and all at once; and what is measured is the max-min quantised one. */
static void test_mixed(void)
{
    const struct cgx_coding coding = {.bucket_size = 512};
    const struct cgx_piece pieces[PIECES] = {
        {.first = 0, .count = 2048, .bits = 4, .offset = 0},
        {.first = 2048, .count = 3072, .bits = CGX_ROTATED + 3, .offset = 1040},
        {.first = 5120, .count = 5120, .bits = CGX_BITS_EXACT, .offset = 2208}};
    const unsigned char *sources[] = {payloads[0], NULL, payloads[0]};
    const struct cgx_codec *codec = cgx_codec_host();
    bool same;

    data_fill(DATA_GAUSSIAN, 1, values, COUNT);
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < (way == 0 ? 1 : PIECES); i++) {
            size_t n = way == 0 ? PIECES : 1;

            cgx_codec_run(codec, &(struct cgx_work){CGX_ENCODE, &coding, pieces + i, n,
                                                    .in = values, .out = payloads[way]});
            cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, &coding, pieces + i, n,
                                                    .in = payloads[way], .out = decoded[way]});
        }
    same = memcmp(payloads[0], payloads[1], sizeof payloads[0]) == 0 &&
           memcmp(decoded[0], decoded[1], sizeof decoded[0]) == 0;
    memset(payloads[1], 0, sizeof payloads[1]);
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < (way == 0 ? 1 : PIECES); i++)
            cgx_codec_run(codec,
                          &(struct cgx_work){CGX_REDUCE, &coding, pieces + i, way == 0 ? PIECES : 1,
                                             sources, 3, .in = values, .out = payloads[1 + way]});
    ok(same && memcmp(payloads[1], payloads[2], sizeof payloads[1]) == 0,
       "pieces of all families in one call are what each is alone");
}

/* ---- checksums ---- */

/* Of 5000 elements from integers that depend on no library, and of a sum with themselves. */
static void checksum(unsigned width, uint64_t sums[2])
{
    const struct cgx_coding coding = {.bucket_size = 512, .call = 7};
    const struct cgx_piece piece = {.first = 2048, .count = 5000, .bits = CGX_ROTATED + width};
    const unsigned char *sources[] = {payloads[0], NULL, payloads[0]};
    size_t bytes = reference_bytes(5000, piece.bits, 0, 0);
    uint64_t state = 5;

    for (int i = 0; i < 7048; i++)
        values[i] = (float)(int32_t)(data_random(&state) >> 32) *
                    cgx_bits_float((uint32_t)(90 + i / 256) << 23);
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payloads[0]);
    data_sum(cgx_codec_host(), CGX_REDUCE, &coding, &piece, sources, 3, values, payloads[1]);
    sums[0] = data_checksum(payloads[0], bytes);
    sums[1] = data_checksum(payloads[1], bytes);
}

static void test_checksums(void)
{
    static const uint64_t golden[CGX_ROTATED_WIDTHS][2] = {
        {0x18928C40453D0AC4u, 0x02A91AD611F0C7B5u},
        {0xDD464343759984C6u, 0xA9CCA5194BEBF40Eu},
        {0xE9C4D90BC903F8DDu, 0x8355EE899551D665u},
        {0x908AB5C4B480F0D2u, 0x65B54AF7C254BC11u},
        {0x5AA06AFBC4D5CBEDu, 0x1B62F1C8E94C9CEDu}};
    bool same = true;

    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        uint64_t sums[2];

        checksum(width, sums);
        if (memcmp(sums, golden[width - 1], sizeof sums) != 0) {
            diag("%u bits: 0x%016llX, 0x%016llX", width, (unsigned long long)sums[0],
                 (unsigned long long)sums[1]);
            same = false;
        }
    }
    ok(same, "larger payloads have the checksums they always had");
}

int main(void)
{
    test_layout();
    test_spike();
    test_special();
    test_mixed();
    test_checksums();
    return done_testing();
}
