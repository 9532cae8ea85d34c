/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What no encoder of uniform pieces writes, the kernels refuse as the host codec does; anything
 * else they decode to the same elements. */

#include "unit/lib/uniform_scene.h"

static void test_refused(const char *what, void (*spoil)(unsigned char *piece, size_t count))
{
    struct plan plan = plan_of(11, CGX_FLOAT32);
    bool refused = true;

    plan.nsources = 2;
    plan.elements = 2;
    plan.coding.step_size = 0.5f;
    for (int k = 0; k < 2; k++) {
        make(&plan);
        spoil(payload_in(&plan, made, 0) + plan.pieces[0].offset, plan.counts[0]);
        refused = refused && is_same(&plan, k ? CGX_REDUCE : CGX_DECODE, CGX_ERR_FORMAT);
    }
    ok(refused, "refused: %s", what);
}

static void spoil_step(unsigned char *piece, size_t count)
{
    float step = 0x1p-121f;

    (void)count;
    memcpy(piece, &step, sizeof step);
}

static void spoil_exponent(unsigned char *piece, size_t count)
{
    piece[cgx_uniform_layout_of(count).exponents + 3] = 255;
}

static void spoil_kind(unsigned char *piece, size_t count)
{
    piece[cgx_uniform_layout_of(count).kinds + 8 * 2 + 7] = 0xC8;
}

static void spoil_end(unsigned char *piece, size_t count)
{
    uint32_t end = (uint32_t)cgx_uniform_most_words(count) + 1;

    memcpy(piece + cgx_uniform_layout_of(count).ends + 4 * 4, &end, sizeof end);
}

static void spoil_rest(unsigned char *piece, size_t count)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of(count);
    uint32_t end;

    memcpy(&end, piece + layout.ends + (layout.groups - 1) * sizeof end, sizeof end);
    end++;
    memcpy(piece + layout.ends + (layout.groups - 1) * sizeof end, &end, sizeof end);
}

static void spoil_order(unsigned char *piece, size_t count)
{
    uint32_t end = 0;

    memcpy(piece + cgx_uniform_layout_of(count).ends + 4 * 3, &end, sizeof end);
}

static void spoil_length(unsigned char *piece, size_t count)
{
    uint64_t words = cgx_uniform_most_words(count) + 1;

    memcpy(piece + 8, &words, sizeof words);
}

static void spoil_words(unsigned char *piece, size_t count)
{
    memset(piece + cgx_uniform_layout_of(count).words, 0xFF, 1024);
}

/* Some bytes of words are changed: what is decoded, or that it is refused, is as on the host. */
static void test_random(void)
{
    uint64_t state = 9;
    bool same = true;
    unsigned decoded = 0;

    for (unsigned i = 0; i < 60 && same; i++) {
        struct plan plan = plan_of(11 + 4 * i, CGX_FLOAT32);
        unsigned char *piece;
        struct cgx_uniform_layout layout;
        const unsigned char *sources[MOST_SOURCES];
        struct kernels_job job;

        plan.nsources = 1;
        plan.elements = 1;
        plan.coding.step_size = 0.5f;
        plan.seed = 1 + i % 2;
        make(&plan);
        piece = payload_in(&plan, made, 0) + plan.pieces[0].offset;
        layout = cgx_uniform_layout_of(plan.counts[0]);
        for (unsigned k = 0; k < i; k++) {
            uint64_t r = data_random(&state);

            piece[layout.words + (r >> 8) % 256] = (unsigned char)(r >> 32);
        }
        job = job_in(&plan, CGX_DECODE, expected, sources);
        memcpy(expected, made, plan.bytes);
        if (run_on_host(&job) == CGX_OK) {
            decoded++;
            same = is_same(&plan, CGX_DECODE, CGX_OK);
        } else {
            same = is_same(&plan, CGX_DECODE, CGX_ERR_FORMAT);
        }
    }
    ok(same && decoded > 3 && decoded < 57, "changed words, %u of 60 times still a piece", decoded);
}

int main(void)
{
    if (!kernels_open())
        return done_testing();
    test_refused("a step that is too small", spoil_step);
    test_refused("a step that is doubled too often", spoil_exponent);
    test_refused("a kind that there is not", spoil_kind);
    test_refused("words behind the piece", spoil_end);
    test_refused("a word behind the blocks of a group", spoil_rest);
    test_refused("groups that overlap", spoil_order);
    test_refused("more words than the piece can have", spoil_length);
    test_refused("levels without an end", spoil_words);
    test_random();
    return done_testing();
}
