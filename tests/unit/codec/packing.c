/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads that are packed: to the bytes that the format says, to a tenth or so where nine of ten
 * rows are zeros, back to the bytes that they were; and bytes that nobody has packed. Every block
 * is as large as it must be, so that AddressSanitizer sees what is beyond it. */
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

/* ---- any payload ---- */

struct any {
    struct cgx_piece pieces[4];
    struct cgx_extent extent;
    unsigned char *payload;
    size_t bytes;
};

/* Some pieces of which many blocks are zeros, with other bytes before, between and behind them. */
static struct any make_any(uint64_t *state)
{
    struct any any = {.extent = {.bucket_size = 64u << data_random(state) % 7}};
    unsigned zeros = (unsigned)(data_random(state) % 100);
    size_t at;

    any.extent.begin = at = 16 * (data_random(state) % 4);
    any.extent.npieces = data_random(state) % 5;
    for (size_t i = 0; i < any.extent.npieces; i++) {
        unsigned bits = 1 + (unsigned)(data_random(state) % 9);

        at += 16 * (data_random(state) % 2);
        any.pieces[i] = (struct cgx_piece){.count = 1 + data_random(state) % 20000,
                                           .bits = bits <= 8 ? bits : CGX_BITS_EXACT,
                                           .offset = at};
        at += cgx_piece_layout(any.pieces[i].count, any.pieces[i].bits, any.extent.bucket_size,
                               CGX_FLOAT32)
                  .bytes;
    }
    any.extent.end = at + 16 * (data_random(state) % 3);
    any.bytes = any.extent.end - any.extent.begin;
    any.payload = need(any.bytes);
    for (size_t i = 0; i < any.bytes; i++)
        any.payload[i] = (unsigned char)(data_random(state) % 100 < zeros ? 0 : data_random(state));
    return any;
}

static void fill_zeros(uint64_t *state, const struct any *any)
{
    struct cgx_coding coding = {.bucket_size = any->extent.bucket_size};
    float *elements = need(20000 * sizeof *elements);
    unsigned zeros = (unsigned)(data_random(state) % 101);

    for (size_t i = 0; i < any->extent.npieces; i++) {
        struct cgx_piece piece = any->pieces[i];

        piece.offset -= any->extent.begin;
        piece.first = 0;
        for (size_t e = 0; e < piece.count; e += 64) {
            bool zero = data_random(state) % 100 < zeros;

            for (size_t j = e; j < e + 64 && j < piece.count; j++)
                elements[j] = zero ? 0 : (float)data_gaussian(state);
        }
        data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, elements, any->payload);
    }
    free(elements);
}

static void test_any(void)
{
    uint64_t state = 17;
    unsigned packed = 0;
    bool same = true;

    for (unsigned n = 0; n < 2000; n++) {
        struct any any = make_any(&state);
        unsigned char *room = need(any.bytes), *back = need(any.bytes), *exact;
        size_t bytes;

        any.extent.pieces = any.pieces;
        fill_zeros(&state, &any);
        memset(back, 0xA5, any.bytes);
        bytes = cgx_pack(&any.extent, any.payload, room);
        same = same && bytes <= cgx_packed_most(&any.extent);
        if (bytes > 0) {
            packed++;
            exact = malloc(bytes);
            memcpy(exact, room, bytes);
            same = same && cgx_unpack(&any.extent, exact, bytes, back) == CGX_OK &&
                   memcmp(back, any.payload, any.bytes) == 0;
            free(exact);
        }
        free(room);
        free(back);
        free(any.payload);
    }
    ok(same && packed > 500, "%u payloads of any pieces are unpacked to what they were", packed);
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

/* ---- bytes that nobody has packed ---- */

/* Unpacks BYTES of PACKED out of a block of their own, into one with guards. */
static bool accepts(const struct any *any, const unsigned char *packed, size_t bytes, bool *guarded)
{
    unsigned char *from = malloc(bytes + 1), *to = malloc(any->bytes + 128);
    bool accepted;

    if (!from || !to)
        bail_out("memory is short");
    memcpy(from, packed, bytes);
    from = realloc(from, bytes > 0 ? bytes : 1);
    memset(to, 0x5A, any->bytes + 128);
    accepted = cgx_unpack(&any->extent, from, bytes, to + 64) == CGX_OK;
    for (size_t i = 0; i < 64; i++)
        *guarded = *guarded && to[i] == 0x5A && to[64 + any->bytes + i] == 0x5A;
    free(from);
    free(to);
    return accepted;
}

static void test_hostile(void)
{
    uint64_t state = 23;
    unsigned lengths = 0, maps = 0;
    bool refused = true, told = true, guarded = true;

    for (unsigned n = 0; n < 300; n++) {
        struct any any = make_any(&state);
        unsigned char *room = need(any.bytes + 64);
        size_t bytes;

        any.extent.pieces = any.pieces;
        fill_zeros(&state, &any);
        bytes = cgx_pack(&any.extent, any.payload, room);
        for (size_t i = 0; i < 40 && bytes > 0; i++) {
            size_t length = i < 20 ? data_random(&state) % bytes : bytes + 1 + i;

            refused = refused && !accepts(&any, room, length, &guarded);
            lengths++;
        }
        /* Any bit of the map: a block more or less, or one that does not exist. */
        for (size_t bit = 0; bit < 128 && bytes > 0 && any.pieces[0].offset == any.extent.begin &&
                             any.pieces[0].bits != CGX_BITS_EXACT;
             bit++) {
            room[bit / 8] ^= (unsigned char)(1 << bit % 8);
            told = told && !accepts(&any, room, bytes, &guarded);
            room[bit / 8] ^= (unsigned char)(1 << bit % 8);
            maps++;
        }
        for (size_t i = 0; i < any.bytes; i++)
            room[i] = (unsigned char)data_random(&state);
        for (size_t i = 0; i < 20; i++)
            accepts(&any, room, data_random(&state) % (any.bytes + 64), &guarded);
        free(room);
        free(any.payload);
    }
    ok(refused && lengths > 2000, "%u lengths that are not the right one are refused", lengths);
    ok(told && maps > 2000, "and %u maps with one bit more or less", maps);
    ok(guarded, "and nothing is written outside");
}

int main(void)
{
    test_specification();
    test_tables();
    test_any();
    test_dense();
    test_hostile();
    return done_testing();
}
