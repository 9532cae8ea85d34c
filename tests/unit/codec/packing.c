/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads that are packed: to the bytes that the format says, to a tenth or so where nine of ten
 * rows are zeros, back to the bytes that they were. tests/fuzz/packing has any payloads, and bytes
 * that nobody has packed. */
#include "codec/packing.h"

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static void *need(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);

    if (!memory)
        bail_out("memory is short");
    return memory;
}

/* ---- the bytes ---- */

static void test_specification(void)
{
    /* 32 buckets of 128 at 4 bits: the first three are a grid with a zero point of -5, of which the
     * first has one block that is not zero, the second none; then a constant, then zeros. */
    enum { BUCKETS = 32, HEADERS = 4 * BUCKETS };
    const struct cgx_piece piece = {.count = (size_t)128 * BUCKETS, .bits = 4, .offset = 48};
    const struct cgx_extent extent = {&piece, 1, 128, 32, 48 + HEADERS + 64 * BUCKETS + 16};
    static _Alignas(16) unsigned char payload[16 + HEADERS + 64 * BUCKETS + 16];
    static unsigned char packed[sizeof payload], back[sizeof payload], expected[sizeof payload];
    unsigned char *codes = payload + 16 + HEADERS;
    const uint32_t grid = 0x3F80FFFBu;
    const float constant = 2.5f;
    size_t at = 0, bytes;
    bool refused = true;

    memset(payload, 0xAA, 16);
    memset(payload + sizeof payload - 16, 0xBB, 16);
    for (int k = 0; k < 3; k++)
        memcpy(payload + 16 + 4 * k, &grid, sizeof grid);
    memset(codes, 0x55, 3 * 64);
    codes[40] = 0x15;
    memset(codes + 128, 0x77, 64);
    memcpy(codes + 192, &constant, sizeof constant);

    memset(expected, 0xAA, 16);
    expected[16] = 2 | 1 << 2 | 3 << 4 | 1 << 6; /* a bit for each of 64 blocks, 16 bytes */
    at = 16 + 16;
    memcpy(expected + at, payload + 16, 4 * 4);
    at += 4 * 4;
    memcpy(expected + at, codes + 32, 32);
    memcpy(expected + at + 32, codes + 64, 32);
    memcpy(expected + at + 64, codes + 128, 64);
    memcpy(expected + at + 128, codes + 192, 32);
    at += 160;
    memset(expected + at, 0xBB, 16);
    at += 16;

    bytes = cgx_pack(&extent, payload, packed);
    ok(bytes == at && memcmp(packed, expected, at) == 0,
       "packed are the bytes that the format says");
    ok(cgx_unpack(&extent, packed, bytes, back) == CGX_OK &&
           memcmp(back, payload, sizeof payload) == 0,
       "and unpacked to what they were");
    for (size_t length = 0; length < sizeof packed; length++)
        refused = refused &&
                  (length == bytes || cgx_unpack(&extent, packed, length, back) == CGX_ERR_FORMAT);
    ok(refused, "lengths that are not the right one are refused");
    for (size_t bit = 0; bit < 128; bit++) {
        packed[16 + bit / 8] ^= (unsigned char)(1 << bit % 8);
        refused = refused && cgx_unpack(&extent, packed, bytes, back) == CGX_ERR_FORMAT;
        packed[16 + bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ok(refused, "and so is a map with a block more or less, or one that does not exist");
}

/* ---- tables ---- */

/* A payload of ROWS rows of WIDTH elements, one in ten of which is not zero: by chance, or those
 * at the start. Returns how many times less it is when it is packed; 0: it is not, or was not
 * unpacked to what it was. */
static double gain(unsigned encoding, unsigned bucket_size, size_t rows, size_t width, bool chance)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32, .bucket_size = bucket_size};
    const struct cgx_piece piece = {.count = rows * width, .bits = encoding};
    size_t bytes = cgx_piece_layout(piece.count, encoding, bucket_size, CGX_FLOAT32).bytes, packed;
    const struct cgx_extent extent = {&piece, 1, bucket_size, 0, bytes};
    float *elements = need(piece.count * sizeof *elements);
    unsigned char *payload = need(bytes), *room = need(bytes), *back = need(bytes);
    uint64_t state = 3;
    double times = 0;

    for (size_t row = 0; row < rows; row++) {
        bool zero = chance ? data_random(&state) % 10 != 0 : row >= rows / 10;

        for (size_t i = 0; i < width; i++)
            elements[row * width + i] = zero ? 0 : (float)data_gaussian(&state);
    }
    if (data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, elements, payload) != CGX_OK)
        bail_out("encoding failed");
    if (cgx_packing_pays(&extent, payload)) {
        packed = cgx_pack(&extent, payload, room);
        memset(back, 0xA5, bytes);
        if (packed > 0 && cgx_unpack(&extent, room, packed, back) == CGX_OK &&
            memcmp(back, payload, bytes) == 0)
            times = (double)bytes / (double)packed;
    }
    free(elements);
    free(payload);
    free(room);
    free(back);
    return times;
}

static void test_tables(void)
{
    static const unsigned bucket_sizes[] = {64, 512, 4096};
    static const struct {
        size_t width;
        bool chance;
        const char *name;
    } tables[] = {{64, false, "rows of 64 at one end"},
                  {64, true, "rows of 64 anywhere"},
                  {1024, true, "rows of 1024 anywhere"}};

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        double least = INFINITY;

        for (unsigned bits = 1; bits <= 8; bits++) {
            for (int b = 0; b < 3; b++)
                least = fmin(least, gain(bits, bucket_sizes[b], 1 << 20 >> (t == 2 ? 10 : 6),
                                         tables[t].width, tables[t].chance));
        }
        ok(least >= 5, "max-min, nine of ten rows zeros, %s: at least %.2f times less",
           tables[t].name, least);
    }
}

static void test_dense(void)
{
    static const unsigned encodings[] = {2, 3, 4, 8};
    bool plain = true;

    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
        const struct cgx_coding coding = {.bucket_size = 512};
        const struct cgx_piece piece = {.count = 100000, .bits = encodings[e]};
        size_t bytes = cgx_piece_layout(piece.count, piece.bits, 512, CGX_FLOAT32).bytes;
        const struct cgx_extent extent = {&piece, 1, 512, 0, bytes};
        unsigned char *payload = need(bytes), *room = need(bytes);
        float *elements = need(piece.count * sizeof *elements);

        data_fill(DATA_GAUSSIAN, 1, elements, piece.count);
        data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, elements, payload);
        plain =
            plain && !cgx_packing_pays(&extent, payload) && cgx_pack(&extent, payload, room) == 0;
        free(payload);
        free(room);
        free(elements);
    }
    ok(plain, "what has no zeros is not packed");
}

int main(void)
{
    test_specification();
    test_tables();
    test_dense();
    return done_testing();
}
