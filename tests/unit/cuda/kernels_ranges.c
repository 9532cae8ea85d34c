/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernel cgx_ranges copies ranges of a payload to the same places elsewhere, and nothing else:
 * single words, ranges without any, more words than a block copies, more ranges than a warp looks
 * through at a time, in any order. */

#include <string.h>

#include "cuda/kernels.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

enum { MOST_RANGES = 1200, PAYLOAD_BYTES = 5 << 17, MEMORY_BYTES = 2 * PAYLOAD_BYTES };
enum { WORD = sizeof(uint32_t), TILE = CGX_KERNEL_RANGE_TILE };

/* The payload, then what the ranges are copied to. */
static unsigned char expected[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char actual[MEMORY_BYTES] __attribute__((aligned(256)));

struct range_scene {
    size_t nranges;
    struct cgx_shown ranges[MOST_RANGES];
};

static void add(struct range_scene *scene, size_t offset, size_t bytes)
{
    if (scene->nranges == MOST_RANGES || offset + bytes > PAYLOAD_BYTES)
        bail_out("%zu bytes at %zu are beyond the payload", bytes, offset);
    scene->ranges[scene->nranges++] = (struct cgx_shown){offset, bytes};
}

static bool is_same(const struct range_scene *scene)
{
    static uint64_t state = 1;
    const struct cgx_coding any = {.dtype = CGX_FLOAT32};
    const struct kernels_job job = {.coding = &any,
                                    .ranges = scene->ranges,
                                    .nranges = scene->nranges,
                                    .payload = actual,
                                    .buffer = actual + PAYLOAD_BYTES};
    enum cgx_status status;

    for (size_t i = 0; i < MEMORY_BYTES; i += sizeof state) {
        uint64_t random = data_random(&state);

        memcpy(actual + i, &random, sizeof random);
    }
    memcpy(expected, actual, MEMORY_BYTES);
    for (size_t i = 0; i < scene->nranges; i++) {
        const struct cgx_shown *range = &scene->ranges[i];

        memcpy(expected + PAYLOAD_BYTES + range->offset, expected + range->offset, range->bytes);
    }
    status = kernels_run(&job, actual, MEMORY_BYTES);
    for (size_t i = 0; i < MEMORY_BYTES; i++) {
        if (actual[i] != expected[i]) {
            diag("%zu ranges: byte %zu of %s is %d, not %d", scene->nranges, i % PAYLOAD_BYTES,
                 i < PAYLOAD_BYTES ? "the payload" : "the copy", actual[i], expected[i]);
            return false;
        }
    }
    return status == CGX_OK;
}

static struct range_scene scene; /* too large for a stack */

/* A range of WORDS is as good as alone: before it, behind it and among others. */
static void test_lengths(void)
{
    static const size_t words[] = {
        1,    2,        31,       127,          128,      129,    TILE - 1,
        TILE, TILE + 1, 2 * TILE, 2 * TILE + 1, 9 * TILE, 100003, 7 * TILE - 1};
    bool same = true;

    for (size_t i = 0; i < sizeof words / sizeof *words && same; i++) {
        size_t bytes = words[i] * WORD;

        for (unsigned place = 0; place < 4 && same; place++) {
            scene.nranges = 0;
            if (place % 2 == 1)
                add(&scene, PAYLOAD_BYTES - 3 * WORD, 3 * WORD);
            add(&scene, place * WORD, bytes);
            if (place / 2 == 1)
                add(&scene, PAYLOAD_BYTES - 9 * WORD, 5 * WORD);
            same = is_same(&scene);
        }
    }
    ok(same, "ranges of all lengths around the %d words of a block", TILE);
}

/* All words of the payload's start but every STRIDE-th, one by one. */
static void test_words(size_t stride)
{
    scene.nranges = 0;
    for (size_t i = 0; scene.nranges < MOST_RANGES; i++) {
        if (i % stride != stride - 1)
            add(&scene, i * WORD, WORD);
    }
    ok(is_same(&scene), "%d words, with a gap after %zu each", MOST_RANGES, stride - 1);
}

/* COUNT ranges, most of them short, some without words and some of several blocks, backwards or at
 * places that overlap. */
static bool is_same_many(size_t count, bool backwards)
{
    const size_t room = PAYLOAD_BYTES / WORD / count;

    scene.nranges = 0;
    for (size_t i = 0; i < count; i++) {
        size_t words = i % 97 == 4 ? TILE + i : i % 5 == 2 ? 0 : 1 + i * 7 % 40;
        size_t first = backwards ? (count - 1 - i) * room : i * 7919 % (PAYLOAD_BYTES / WORD);

        if (backwards && words >= room)
            words = room - 1;
        if (first + words > PAYLOAD_BYTES / WORD)
            words = PAYLOAD_BYTES / WORD - first;
        add(&scene, first * WORD, words * WORD);
    }
    return is_same(&scene);
}

static void test_many(void)
{
    static const size_t counts[] = {2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, MOST_RANGES};
    bool backwards = true, anywhere = true;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        backwards = backwards && is_same_many(counts[i], true);
        anywhere = anywhere && is_same_many(counts[i], false);
    }
    ok(backwards, "2 to %d ranges, backwards", MOST_RANGES);
    ok(anywhere, "2 to %d ranges that overlap, some without words", MOST_RANGES);
}

int main(void)
{
    if (!kernels_open())
        return done_testing();
    test_lengths();
    test_words(2);
    test_words(9);
    test_many();
    return done_testing();
}
