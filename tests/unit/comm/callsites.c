/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What belongs to a communicator. Which call sites its table has. Its tables are made when ranks
 * agree on settings, and know of the sums before: nothing is found later, or otherwise, than if
 * they had been there from the first sum on. And which communicators a thread is freeing, also
 * after jumps out of MPI. */
#include "comm/attribute.h"
#include "comm/state.h"
#include "lib/tap.h"
#include "mpi/config.h"

static struct cgx_comm state;

static struct cgx_callsite *find(uint64_t count)
{
    const struct cgx_callsite_key key = {.count = count, .position = CGX_POSITION_NONE};

    return cgx_callsites_find(&state, &key, true);
}

/* A sum that comes once. */
static struct cgx_callsite *find_once(uint64_t count)
{
    const struct cgx_callsite_key key = {.count = count, .position = CGX_POSITION_NONE};

    return cgx_callsites_find(&state, &key, false);
}

static void test_memory(void)
{
    const uint64_t used = 7 << 14, unused = 8 << 14;
    unsigned kept = 0;

    for (uint64_t i = 1; i <= CGX_CALLSITES_UNPLACED; i++)
        find(i << 14)->shared.state = CGX_SITE_COMPRESSED;
    for (uint64_t i = 1; i <= CGX_CALLSITES_UNPLACED; i++)
        kept += find(i << 14)->shared.state == CGX_SITE_COMPRESSED;
    ok(kept == CGX_CALLSITES_UNPLACED, "a thousand counts are remembered, whatever they are");
    for (uint64_t count = 1000; count < 4000; count++)
        find_once(count)->shared.state = CGX_SITE_NEW;
    ok(find(unused)->shared.state == CGX_SITE_COMPRESSED, "sums that come once push out none");
    for (uint64_t count = 1000; count < 200000; count++) {
        find(count);
        find(used);
    }
    ok(find(used)->shared.state == CGX_SITE_COMPRESSED, "one in use is never forgotten");
    ok(find(unused)->shared.state == CGX_SITE_NEW, "one long unused is, and comes back as new");
    cgx_callsites_clear(state.callsites);
    ok(find(used)->shared.state == CGX_SITE_NEW, "an empty table has new sites alone");
}

/* A step of sums of two counts, of which the second comes twice. */
enum { PERIOD = 3 };
static const uint64_t step[PERIOD] = {20000, 30000, 30000};

static void take_steps(void)
{
    for (int i = 0; i < 20 * PERIOD; i++)
        cgx_recurrence_next(state.stream.recurrence, step[i % PERIOD], 0);
}

static void test_positions(void)
{
    struct cgx_callsite_key key = {.count = step[1], .position = 1};
    struct cgx_callsite *site, *other;

    state.stream.recurrence = cgx_recurrence_create(2, 16384);
    cgx_recurrence_set_step(state.stream.recurrence, PERIOD);
    take_steps();
    ok(state.stream.recurrence->pattern.length == PERIOD, "there is a step");
    site = cgx_callsites_find(&state, &key, true);
    site->shared.state = CGX_SITE_COMPRESSED;
    key.position = 2;
    other = cgx_callsites_find(&state, &key, true);
    ok(other->shared.state == CGX_SITE_NEW, "equal calls at two positions are two sites");
    ok(find(key.count)->shared.state == CGX_SITE_NEW, "and so is one whose position is not known");
    for (uint64_t count = 1000; count < 200000; count++)
        find(count);
    key.position = 1;
    ok(cgx_callsites_find(&state, &key, true) == site && site->shared.state == CGX_SITE_COMPRESSED,
       "no other call takes the place of a position's");
    cgx_recurrence_set_step(state.stream.recurrence, 2 * PERIOD);
    take_steps();
    ok(cgx_callsites_find(&state, &key, true)->shared.state == CGX_SITE_NEW,
       "where positions have got another meaning they are new");
    ok(other->key.count == 0, "and what others had is freed, though their sums may not come again");
    cgx_recurrence_free(state.stream.recurrence);
    state.stream.recurrence = NULL;
}

/* The site of COUNT at POSITION after a window at it in the step before, if it showed anything. */
static bool is_clear_at(uint32_t position, uint64_t count)
{
    const struct cgx_callsite_key key = {.count = count, .position = position};

    return cgx_callsites_find(&state, &key, true)->shared.clear;
}

static void show_at(uint32_t position, uint64_t count, enum cgx_look look)
{
    const struct cgx_callsite_key key = {.count = count, .position = position};

    cgx_callsite_note(cgx_callsites_find(&state, &key, true),
                      &(struct cgx_site_note){.event = CGX_EVENT_JUDGED, .look = look});
}

/* Positions get another meaning. */
static void change_step(size_t period)
{
    cgx_recurrence_set_step(state.stream.recurrence, period);
    take_steps();
}

static void test_clear(void)
{
    cgx_callsites_clear(state.callsites);
    state.stream.recurrence = cgx_recurrence_create(2, 16384);
    cgx_recurrence_set_step(state.stream.recurrence, PERIOD);
    take_steps();
    show_at(0, step[0], CGX_LOOK_GRADIENT);
    show_at(1, step[1], CGX_LOOK_GRADIENT);
    show_at(2, step[1], CGX_LOOK_STILL);
    change_step(2 * PERIOD);
    ok(is_clear_at(0, step[0]) && is_clear_at(3, step[0]),
       "a count whose sums were gradients needs no looks at other positions");
    ok(!is_clear_at(1, step[1]), "one of which some were state does");
    ok(!is_clear_at(2, 40000), "and so does a new one");
    change_step(PERIOD);
    ok(is_clear_at(0, step[0]), "what was taken over is handed on");
    cgx_callsites_clear(state.callsites);
    ok(!is_clear_at(0, step[0]), "but not kept where all sites are forgotten");
    cgx_recurrence_free(state.stream.recurrence);
    state.stream.recurrence = NULL;
    cgx_callsites_clear(state.callsites);
}

/* A hint of the communicator. */
static void take_hint(enum cgx_hint hint, const char *value)
{
    const char *values[CGX_HINTS] = {NULL};
    struct cgx_rules_error error;

    values[hint] = value;
    cgx_hints_parse(&state.terms.hints, values, &error);
    state.terms.taken++;
}

static void test_hints(void)
{
    struct cgx_nodes *nodes = cgx_nodes_create(NULL, 2);
    struct cgx_callsite *site = find(50000);

    state.scheme.nodes = state.scheme.flat = nodes;
    ok(site->refusal == CGX_REASON_NONE && !site->override.layers, "no hints say anything");
    take_hint(CGX_HINT_LAYERS, "20000:8,30000:exact");
    site = find(50000);
    ok(site->override.layers && site->override.layers->nlayers == 2, "hints come to a site again");
    take_hint(CGX_HINT_LAYERS, "20000:8,30000:exact");
    ok(cgx_callsites_schedule(&state, site)->plan.nsegments > 1,
       "a plan is made by the hints that there are now");
    cgx_callsites_clear(state.callsites);
    cgx_override_clear(&state.terms.hints);
    state.terms.hints = (struct cgx_override){.bits = 0};
    cgx_nodes_free(nodes);
}

/* Those of sums without a position do not follow the steps before, which may be long ago. */
static void test_step_sizes(void)
{
    struct cgx_nodes *nodes = cgx_nodes_create(NULL, 2);
    struct cgx_callsite *site = find(60000);
    struct cgx_coll lost = {.age = 0}, placed = {.age = 0};

    state.scheme.nodes = state.scheme.flat = nodes;
    lost.schedule = placed.schedule = cgx_callsites_schedule(&state, site);
    site->shared.runs = CGX_STEP_YOUNG;
    site->step_size.mean = 1e-6;
    state.step.size.mean = 1;
    cgx_callsite_attach(&state.step, site, &lost);
    site->key.position = 0;
    site->shared.history.retry.wait = 1; /* neither has a history */
    cgx_callsite_attach(&state.step, site, &placed);
    ok(lost.step_sizes[CGX_STEP_STAGES - 1] > 0 &&
           placed.step_sizes[CGX_STEP_STAGES - 1] > 900 * lost.step_sizes[CGX_STEP_STAGES - 1],
       "quantisation steps are the site's own where its position is not known");
    site->key.position = CGX_POSITION_NONE;
    state.step.size.mean = 0;
    state.scheme.nodes = state.scheme.flat = NULL;
    cgx_nodes_free(nodes);
}

/* Sums by ops of the program's own are exact until a hint says what they are. */
static void test_ops(void)
{
    const struct cgx_callsite_key opaque = {.count = 4096,
                                            .type = CGX_TYPE_OPAQUE16,
                                            .position = CGX_POSITION_NONE},
                                  single = {.count = 4096,
                                            .type = CGX_TYPE_FLOAT32,
                                            .position = CGX_POSITION_NONE};

    ok(cgx_callsites_find(&state, &opaque, true)->refusal == CGX_REASON_UNKNOWN_SUM,
       "an op of the program's own is unknown");
    take_hint(CGX_HINT_OP, "bfloat16");
    ok(cgx_callsites_find(&state, &opaque, true)->refusal == CGX_REASON_NONE &&
           cgx_callsites_find(&state, &opaque, true)->dtype == CGX_BFLOAT16,
       "unless a hint says what it sums");
    ok(cgx_callsites_find(&state, &single, true)->dtype == CGX_FLOAT32,
       "which changes no other sum");
    cgx_override_clear(&state.terms.hints);
}

/* ---- tables ---- */

/* How the first pass over a model, if it is another one, and its steps begin: sums in elements, up
 * to a 0; of 16384 and more are large. */
#define MOST 16
static const struct {
    uint64_t first[MOST], step[MOST];
} streams[] = {
    {{0}, {20000}},
    {{0}, {1, 20000, 30000}},
    {{0}, {2048, 300, 20000, 30000, 1}},
    {{0}, {1024, 1025, 1027, 40000, 2048, 20000, 2048, 20000, 17}},
    {{0}, {16, 16383, 16383, 20000, 1, 1, 1, 1}},
    {{0}, {9000, 20000, 30000, 40000, 50000, 60000, 70000, 80000, 3000, 90000}},
    {{9000, 90000}, {20000, 30000, 49000}},
    {{1, 9000, 100, 89900}, {20000, 30000, 49000}},
    {{15, 15, 15, 98955}, {20000, 30000, 49000}},
};

/* How all of them end: with too many sums for a layer of a model. */
static const uint64_t rest[MOST] = {16400, 16500, 16600, 16700, 16800, 16900, 17000,
                                    17100, 17200, 17300, 17400, 17500, 17600};

static bool is_same(struct cgx_occurrence a, struct cgx_occurrence b)
{
    return a.recurs == b.recurs && a.begins_step == b.begins_step && a.position == b.position;
}

/* The two that are compared. */
static struct cgx_recurrence *reference;

/* Has both take the sums of PASS; false where they find other things. Adds to *RECURRING. */
static bool take(const uint64_t *pass, unsigned *recurring)
{
    bool same = true;

    for (size_t i = 0; i < MOST && pass[i]; i++) {
        struct cgx_occurrence expected = cgx_recurrence_next(reference, pass[i], 0);
        const bool agrees = pass[i] >= CGX_REQUEST_LEAST && !state.stream.recurrence &&
                            state.stream.first.sums == CGX_FIRST_SUMS;

        if (agrees && !cgx_tables_make(&state))
            bail_out("memory is short");
        if (agrees)
            cgx_tables_catch_up(&state);
        same = is_same(cgx_tables_next(&state, pass[i], 0), expected) && same;
        *recurring += expected.recurs;
    }
    return same;
}

/* STREAM, after EARLIER small sums of COUNT elements, of which more than one can hide the steps. */
static void test_stream(size_t stream, uint32_t earlier, uint64_t count)
{
    unsigned recurring = 0;
    bool same = true;

    state = (struct cgx_comm){0};
    reference = cgx_recurrence_create(cgx_config()->warmup, cgx_config()->minimal_size);
    for (uint32_t i = 0; i < earlier; i++)
        same = take((uint64_t[MOST]){count}, &recurring) && same;
    ok(!state.stream.recurrence, "stream %zu after %u sums of %llu elements: no tables", stream,
       earlier, (unsigned long long)count);
    if (streams[stream].first[0])
        same = take(streams[stream].first, &recurring) && take(rest, &recurring) && same;
    for (int i = 0; i < 100; i++)
        same = take(streams[stream].step, &recurring) && take(rest, &recurring) && same;
    ok(same && (recurring > 0 || earlier > 1),
       "and all is found as from the first sum on (%u recur)", recurring);
    cgx_recurrence_free(reference);
    cgx_tables_free(&state);
    ok(!state.stream.recurrence && !state.callsites, "and freed");
}

/* ---- freeing: stacks grow down ---- */

static struct cgx_comm states[10];

static cgx_mpi_comm comm_of(unsigned i)
{
    return (cgx_mpi_comm)(void *)&states[i];
}

static bool push(unsigned i, uintptr_t frame)
{
    return cgx_freeing_push(&(struct cgx_freeing){comm_of(i), &states[i], frame});
}

static void test_freeing(void)
{
    unsigned pushed = 0;

    ok(push(0, 1000) && push(1, 900) && cgx_freeing_has(comm_of(0), 800) &&
           cgx_freeing_has(comm_of(1), 800) && !cgx_freeing_has(comm_of(2), 800),
       "both are being freed, seen from deeper in the stack");
    ok(!cgx_freeing_pop(comm_of(2)) && cgx_freeing_has(comm_of(1), 800),
       "the end of one that has not begun ends no other");
    ok(cgx_freeing_pop(comm_of(1)) == &states[1] && !cgx_freeing_has(comm_of(1), 800) &&
           cgx_freeing_has(comm_of(0), 800) && cgx_freeing_pop(comm_of(0)) == &states[0],
       "each end gives the state back");
    ok(!cgx_freeing_lost(), "nothing was lost");
    ok(push(0, 1000) && !cgx_freeing_has(comm_of(0), 1100) && cgx_freeing_lost() &&
           !cgx_freeing_pop(comm_of(0)),
       "one that a jump out of MPI has left is dropped, and its state is lost");
    ok(push(0, 1000) && push(1, 900) && push(2, 950) && !cgx_freeing_has(comm_of(1), 800) &&
           cgx_freeing_pop(comm_of(0)) == &states[0] && !cgx_freeing_has(comm_of(2), 800),
       "so is one within another, which goes on");
    while (pushed < 10 && push(pushed, 1000 - pushed))
        pushed++;
    ok(pushed == 8, "there is room for eight");
}

/* Settings are read without an MPI. */
static int is_initialized(int *flag)
{
    *flag = 0;
    return CGX_MPI_SUCCESS;
}

int main(void)
{
    static const struct cgx_mpi mpi = {.Initialized = is_initialized};

    test_freeing();
    atomic_store(&cgx_mpi_found, &mpi);
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        test_stream(i, 0, 1);
        test_stream(i, 1, 1);
        test_stream(i, 7, 1000);
        test_stream(i, 100000, 40);
        test_stream(i, 100000, 1);
    }
    state = (struct cgx_comm){0};
    state.callsites = cgx_callsites_create();
    test_memory();
    test_positions();
    test_clear();
    test_hints();
    test_step_sizes();
    test_ops();
    cgx_callsites_free(state.callsites);
    return done_testing();
}
