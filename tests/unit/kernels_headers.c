/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernel cgx_headers copies the bucket headers of a payload to the same places elsewhere, and
 * nothing else: pieces of all widths, all bucket sizes, more buckets than a block copies, more
 * pieces than a warp looks through, elements as they are in between. */

#include <string.h>

#include "codec_data.h"
#include "cuda/kernels.h"
#include "kernels_run.h"
#include "lib/tap.h"

enum { MOST_PIECES = 64, PAYLOAD_BYTES = 5 << 18, MEMORY_BYTES = 2 * PAYLOAD_BYTES };

/* The payload, then what the headers are copied to. */
static unsigned char expected[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char actual[MEMORY_BYTES] __attribute__((aligned(256)));

struct scene {
    struct cgx_coding coding;
    size_t npieces;
    size_t buckets[MOST_PIECES];
    unsigned bits[MOST_PIECES];
    size_t missing; /* elements of the last bucket */
};

/* Pieces at multiples of 16 bytes, with gaps here and there. */
static void lay(const struct scene *scene, struct cgx_piece *pieces)
{
    size_t first = 0, offset = 16;

    for (size_t i = 0; i < scene->npieces; i++) {
        size_t count = scene->buckets[i] * scene->coding.bucket_size -
                       (i + 1 == scene->npieces ? scene->missing : 0);

        pieces[i] = (struct cgx_piece){
            .first = first, .count = count, .bits = scene->bits[i], .offset = offset};
        first += count;
        offset +=
            cgx_piece_layout(count, scene->bits[i], scene->coding.bucket_size, scene->coding.dtype)
                .bytes;
        offset = (offset + 15) / 16 * 16 + i % 3 * 16;
    }
    if (offset > PAYLOAD_BYTES)
        bail_out("a scene of %zu bytes is too large", offset);
}

static bool is_same(const struct scene *scene)
{
    static uint64_t state = 1;
    struct cgx_piece pieces[MOST_PIECES];
    const struct kernels_job job = {.kernel = CGX_KERNEL_HEADERS,
                                    .coding = &scene->coding,
                                    .pieces = pieces,
                                    .npieces = scene->npieces,
                                    .payload = actual,
                                    .buffer = actual + PAYLOAD_BYTES};
    enum cgx_status status;

    lay(scene, pieces);
    for (size_t i = 0; i < MEMORY_BYTES; i += sizeof state) {
        uint64_t random = data_random(&state);

        memcpy(actual + i, &random, sizeof random);
    }
    memcpy(expected, actual, MEMORY_BYTES);
    for (size_t i = 0; i < scene->npieces; i++) {
        if (pieces[i].bits != CGX_BITS_EXACT)
            memcpy(expected + PAYLOAD_BYTES + pieces[i].offset, expected + pieces[i].offset,
                   scene->buckets[i] * CGX_BUCKET_HEADER_BYTES);
    }
    status = kernels_run(&job, actual, MEMORY_BYTES);
    for (size_t i = 0; i < MEMORY_BYTES; i++) {
        if (actual[i] != expected[i]) {
            diag("buckets of %u: byte %zu of %s is %d, not %d", scene->coding.bucket_size,
                 i % PAYLOAD_BYTES, i < PAYLOAD_BYTES ? "the payload" : "the copy", actual[i],
                 expected[i]);
            return false;
        }
    }
    return status == CGX_OK;
}

/* Widths 1 to 8 and 32 in turn, 32 at place EXACT. */
static void test_widths(enum cgx_dtype dtype)
{
    bool same = true;

    for (unsigned bucket_size = CGX_BUCKET_SIZE_MIN; bucket_size <= CGX_BUCKET_SIZE_MAX && same;
         bucket_size *= 2) {
        for (size_t exact = 0; exact < 9 && same; exact++) {
            struct scene scene = {.coding = {.dtype = dtype, .bucket_size = bucket_size},
                                  .npieces = 9,
                                  .missing = exact * bucket_size / 9};

            for (size_t i = 0; i < 9; i++) {
                scene.bits[i] = i == exact ? CGX_BITS_EXACT : (unsigned)(i < exact ? i + 1 : i);
                scene.buckets[i] = 1 + (i * 5 + exact) % 7;
            }
            same = is_same(&scene);
        }
    }
    ok(same, "%s: pieces of all widths", data_dtypes[dtype]);
}

/* About as many buckets as a block copies, and as two do. */
static void test_many_buckets(void)
{
    static const size_t buckets[] = {1023, 1024, 1025, 2048, 2049, 2077};
    bool same = true;

    for (unsigned bucket_size = CGX_BUCKET_SIZE_MIN; bucket_size <= CGX_BUCKET_SIZE_MAX && same;
         bucket_size *= 8) {
        for (size_t i = 0; i < sizeof buckets / sizeof *buckets && same; i++) {
            struct scene scene = {.coding = {.bucket_size = bucket_size},
                                  .npieces = 4,
                                  .buckets = {2, buckets[i], 1, 3},
                                  .bits = {3, 1, CGX_BITS_EXACT, 8},
                                  .missing = i * 11};
            struct scene last = {.coding = {.bucket_size = bucket_size},
                                 .npieces = 2,
                                 .buckets = {1, buckets[i]},
                                 .bits = {CGX_BITS_EXACT, 1},
                                 .missing = i * 11};

            same = is_same(&scene) && is_same(&last);
        }
    }
    ok(same, "more than %d buckets in a piece", CGX_KERNEL_HEADER_TILE);
}

/* Every EXACTth is of width 32, and some are of two blocks. */
static void test_many_pieces(size_t exact)
{
    struct scene scene = {.coding = {.bucket_size = 64}, .npieces = MOST_PIECES, .missing = 9};

    for (size_t i = 0; i < MOST_PIECES; i++) {
        scene.bits[i] = i % exact == exact - 1 ? CGX_BITS_EXACT : 1 + (unsigned)i % 8;
        scene.buckets[i] = i % 20 == 4 ? 1025 + i : 1 + i % 5;
    }
    ok(is_same(&scene), "%d pieces, one in %zu of width 32", MOST_PIECES, exact);
}

int main(void)
{
    if (!kernels_open()) {
        skip("the kernels", "no device");
        return done_testing();
    }
    for (int dtype = 0; dtype < 3; dtype++)
        test_widths((enum cgx_dtype)dtype);
    test_many_buckets();
    for (size_t exact = 2; exact < 5; exact++)
        test_many_pieces(exact);
    return done_testing();
}
