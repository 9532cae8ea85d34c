/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Reducing rotated payloads: the levels of each source, and elements that are not quantised once
 * they are rotated, summed in the order given and encoded, in one operation. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/rotated_data.h"

#define FIRST 2048 /* of the piece in the caller's buffer */
#define COUNT (11 * 1024 + 700)
#define SOURCES 20
#define BYTES (COUNT + 1024)

static unsigned char buffers[SOURCES][4 * (FIRST + COUNT) + 1];
static unsigned char payloads[SOURCES][BYTES] __attribute__((aligned(16)));
static unsigned char results[2][BYTES] __attribute__((aligned(16)));
static const unsigned char *sources[SOURCES];

static struct cgx_piece piece_of(unsigned width)
{
    return (struct cgx_piece){
        .first = FIRST, .count = COUNT, .bits = CGX_ROTATED + width, .offset = 32};
}

/* The elements of all sources, of each bucket of a few kinds. The first two are
 * much larger, and cancel: it matters when the others are added. */
static void make_elements(enum cgx_dtype dtype)
{
    size_t size = cgx_dtype_size(dtype);
    float larger = dtype == CGX_FLOAT16 ? 0x1p10f : 0x1p20f;

    for (unsigned p = 0; p < SOURCES; p++) {
        unsigned char *elements = buffers[p] + 1 + FIRST * size;

        rotated_elements(dtype, p < 2 ? 0 : p / 7 * 10 + p % 2, p < 2 ? 0 : p, 1024, COUNT,
                         elements);
        for (size_t i = 0; i < COUNT && p < 2; i++) {
            float value = fmodf(reference_widen(dtype, elements, i), 32.0f);

            reference_narrow(dtype, p == 0 ? larger * value : -larger * value, elements, i);
        }
    }
}

static void make_payloads(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    for (int p = 0; p < SOURCES; p++) {
        memset(payloads[p], 0xAA, BYTES);
        reference_encode(coding, piece, buffers[p] + 1, payloads[p]);
    }
}

/* How many sources there are, and which of them is the buffer. */
struct arrangement {
    size_t nsources, own;
};

/* SAME of a set stays true if it does as the reference does, also with the result over another
 * source. */
static void compare(const struct cgx_coding *coding, const struct cgx_piece *piece,
                    const struct arrangement *arrangement, bool same[DATA_SETS])
{
    static unsigned char before[BYTES];
    size_t own = arrangement->own, n = arrangement->nsources;
    size_t end = piece->offset + reference_bytes(COUNT, piece->bits, 0, 0);
    const void *buffer = own < n ? buffers[own] + 1 : NULL;

    for (size_t p = 0; p < n; p++)
        sources[p] = p == own ? NULL : payloads[p];
    reference_reduce(coding, piece, sources, n, buffer, results[0]);
    for (int way = 0; way < 2 * DATA_SETS; way++) {
        const struct cgx_codec *codec = cgx_codec_host_named(data_sets[way / 2]);
        unsigned char *out = way % 2 ? payloads[n - 1] : results[1];

        if (codec == NULL)
            continue;
        memcpy(before, out, BYTES);
        same[way / 2] =
            same[way / 2] &&
            data_sum(codec, CGX_REDUCE, coding, piece, sources, n, buffer, out) == CGX_OK &&
            memcmp(out + piece->offset, results[0] + piece->offset, end - piece->offset) == 0 &&
            memcmp(out, before, piece->offset) == 0 &&
            memcmp(out + end, before + end, BYTES - end) == 0;
        memcpy(out, before, BYTES);
    }
}

static const struct arrangement arrangements[] = {
    /* payloads alone */
    {1, SIZE_MAX},
    {2, SIZE_MAX},
    {16, SIZE_MAX},
    {17, SIZE_MAX},
    {SOURCES, SIZE_MAX},
    /* and the buffer */
    {1, 0},
    {8, 3},
    {17, 15},
    {18, 16},
    {19, 17},
};
#define ARRANGEMENTS (sizeof arrangements / sizeof *arrangements)

static void test_type(enum cgx_dtype dtype)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 512, .call = 2};
    bool same[2][DATA_SETS];

    memset(same, true, sizeof same);
    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        const struct cgx_piece piece = piece_of(width);

        make_payloads(&coding, &piece);
        for (size_t i = width % 2; i < ARRANGEMENTS; i += 2)
            compare(&coding, &piece, &arrangements[i], same[i < 5 ? 0 : 1]);
    }
    for (int set = 0; set < DATA_SETS; set++) {
        static const char *const names[] = {"sums of payloads", "the own elements in any place"};

        if (data_codec(set) == NULL)
            continue;
        for (int i = 0; i < 2; i++)
            ok(same[i][set], "%s: %s: %s", data_sets[set], data_dtypes[dtype], names[i]);
    }
}

int main(void)
{
    for (int dtype = 0; dtype < 3; dtype++) {
        make_elements((enum cgx_dtype)dtype);
        test_type((enum cgx_dtype)dtype);
    }
    return done_testing();
}
