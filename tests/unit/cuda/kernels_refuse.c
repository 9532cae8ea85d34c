/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What no encoder of uniform pieces writes, the kernels refuse as the host codec does. */

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
    return done_testing();
}
