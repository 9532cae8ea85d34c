/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels of uniform quantisation give the bytes of the host codec, to the payload and to where
 * the host looks: pieces of one group and of more tiles than a block looks back at once, of all
 * kinds of blocks, without and with a step, a bound and history, and sums of few and of many
 * sources, some of them elements. What no encoder writes, they refuse as the host codec does. */

#include "unit/lib/uniform_scene.h"

#ifndef KERNELS_EVERY
#define KERNELS_EVERY 1 /* of the scenes one in so many */
#endif

static void test_all(enum cgx_dtype dtype, bool has_history)
{
    static const enum cgx_operation operations[] = {CGX_ENCODE, CGX_DECODE, CGX_REDUCE};
    static const char *const names[] = {"encode", "decode", "reduce"};
    bool same[3] = {true, true, true};

    for (unsigned i = 0; i < 60 / one_of(2); i += KERNELS_EVERY) {
        struct plan plan = plan_of(i, dtype);

        plan.has_history = has_history;
        for (int k = 0; k < 3; k++) {
            make(&plan);
            if (operations[k] == CGX_DECODE && plan.elements == 0)
                plan.elements = plan.nsources;
            same[k] = same[k] && is_same(&plan, operations[k], CGX_OK);
        }
    }
    for (int k = 0; k < 3; k++)
        ok(same[k], "%s, %s%s: the bytes of the host codec", names[k], data_dtypes[dtype],
           has_history ? ", history" : "");
}

/* More tiles than a warp has lanes. */
static void test_long(void)
{
    struct plan plan = plan_of(1, CGX_FLOAT32);

    plan.counts[0] = 35 * 4096 + 1024;
    plan.nsources = 2;
    plan.elements = 1;
    make(&plan);
    ok(is_same(&plan, CGX_ENCODE, CGX_OK) && is_same(&plan, CGX_REDUCE, CGX_OK) &&
           is_same(&plan, CGX_DECODE, CGX_OK),
       "a long piece");
}

static void test_many(void)
{
    struct plan plan = plan_of(2, CGX_FLOAT32);

    plan.nsources = 34;
    plan.elements = 33;
    plan.coding.step_size = 0;
    plan.encoding = CGX_UNIFORM + 2;
    make(&plan);
    ok(is_same(&plan, CGX_REDUCE, CGX_OK), "many sources");
}

#ifndef SOFTCUDA_TSAN /* any threads may set the status */
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

static void test_each_refused(void)
{
    test_refused("a step that is too small", spoil_step);
    test_refused("a step that is doubled too often", spoil_exponent);
    test_refused("a kind that there is not", spoil_kind);
    test_refused("words behind the piece", spoil_end);
    test_refused("a word behind the blocks of a group", spoil_rest);
    test_refused("groups that overlap", spoil_order);
    test_refused("more words than the piece can have", spoil_length);
    test_refused("levels without an end", spoil_words);
}

/* Some bits of a payload are turned: of the kinds, the words, or anything of a piece. */
static void spoil(const struct plan *plan, unsigned char *payload, uint64_t *state)
{
    const struct cgx_piece *piece = &plan->pieces[data_random(state) % PIECES];
    struct cgx_uniform_layout layout = cgx_uniform_layout_of(piece->count);
    size_t used = cgx_uniform_used(payload + piece->offset, piece->count);
    size_t first[] = {layout.kinds, layout.words, layout.words, 0};
    size_t end[] = {layout.words, used, used, layout.words};
    unsigned part = (unsigned)(data_random(state) % 4);

    for (uint64_t i = data_random(state) % 3 + 1; i > 0 && first[part] < end[part]; i--) {
        size_t at = first[part] + data_random(state) % (end[part] - first[part]);

        payload[piece->offset + at] ^= (unsigned char)(1u << data_random(state) % 8);
    }
}

static enum cgx_status host_status(const struct plan *plan, enum cgx_operation operation)
{
    const unsigned char *sources[MOST_SOURCES];
    struct kernels_job job = job_in(plan, operation, expected, sources);

    memcpy(expected, made, plan->bytes);
    return run_on_host(&job);
}

/* The kernels refuse what the host refuses. */
static void test_malformed(void)
{
    unsigned refused = 0, accepted = 0;
    uint64_t state = 11;
    bool same = true;

    for (unsigned i = 0; i < 400 / one_of(4) && same; i++) {
        struct plan plan = plan_of(i, CGX_FLOAT32);

        plan.shows = false;
        plan.nsources += plan.nsources == 1;
        plan.elements = plan.nsources;
        make(&plan);
        for (unsigned k = 0; k < 4 && same; k++) {
            enum cgx_operation operation = k % 2 ? CGX_REDUCE : CGX_DECODE;
            unsigned char *payload = payload_in(&plan, made, k % 2);
            enum cgx_status wanted;

            spoil(&plan, payload, &state);
            wanted = host_status(&plan, operation);
            same = is_same(&plan, operation, wanted);
            refused += wanted != CGX_OK;
            accepted += wanted == CGX_OK;
        }
    }
    ok(same && refused > accepted / 16 && accepted > refused / 16,
       "malformed pieces: %u refused, %u not", refused, accepted);
}
#endif

int main(void)
{
    if (!kernels_open())
        return done_testing();
    for (int dtype = 0; dtype < 3; dtype++)
        for (int history = 0; history < 2; history++)
            test_all((enum cgx_dtype)dtype, history);
    test_long();
    test_many();
    ok(seen[0] == 0xFFFF && seen[1] == 0xFFFF, "all kinds of blocks: %04x, %04x", seen[0], seen[1]);
#ifndef SOFTCUDA_TSAN
    test_each_refused();
    test_malformed();
#endif
    return done_testing();
}
