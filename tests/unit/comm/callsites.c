/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which call sites the table of a communicator has. */
#include "comm/callsites.h"

#include "lib/tap.h"
#include "mpi/config.h"
#include "util/lru.h"

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

    for (uint64_t i = 1; i <= CGX_LRU_PLACES; i++)
        find(i << 14)->shared.state = CGX_SITE_COMPRESSED;
    for (uint64_t i = 1; i <= CGX_LRU_PLACES; i++)
        kept += find(i << 14)->shared.state == CGX_SITE_COMPRESSED;
    ok(kept == CGX_LRU_PLACES, "a thousand counts are remembered, whatever they are");
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

    state.stream.recurrence = cgx_recurrence_create(
        &(struct cgx_recurrence_rule){.warmup = 2, .minimal_size = 16384, .step = PERIOD});
    take_steps();
    ok(cgx_recurrence_period(state.stream.recurrence) == PERIOD, "there is a step");
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
    ok(!other->used, "and what others had is freed, though their sums may not come again");
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
    state.stream.recurrence = cgx_recurrence_create(
        &(struct cgx_recurrence_rule){.warmup = 2, .minimal_size = 16384, .step = PERIOD});
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
    state.terms.hints = cgx_hints_parse(state.terms.hints, values, &error);
    state.terms.taken++;
}

static void test_hints(void)
{
    struct cgx_nodes *nodes = cgx_nodes_create(NULL, 2);
    struct cgx_callsite *site = find(50000);

    state.places.nodes = state.places.flat = nodes;
    ok(site->refusal == CGX_REASON_NONE && !site->override.layers, "no hints say anything");
    take_hint(CGX_HINT_LAYERS, "20000:8,30000:exact");
    site = find(50000);
    ok(site->override.layers && site->override.layers->nlayers == 2, "hints come to a site again");
    take_hint(CGX_HINT_LAYERS, "20000:8,30000:exact");
    ok(cgx_callsites_schedule(&state, site)->plan.nsegments > 1,
       "a plan is made by the hints that there are now");
    cgx_callsites_clear(state.callsites);
    cgx_hints_free(state.terms.hints);
    state.terms.hints = NULL;
    cgx_nodes_free(nodes);
}

/* Those of sums without a position do not follow the steps before, which may be long ago. */
static void test_step_sizes(void)
{
    struct cgx_nodes *nodes = cgx_nodes_create(NULL, 2);
    struct cgx_callsite *site = find(60000);
    struct cgx_coll lost = {.call = 0}, placed = {.call = 0};

    state.places.nodes = state.places.flat = nodes;
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
    state.places.nodes = state.places.flat = NULL;
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
    cgx_hints_free(state.terms.hints);
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

    atomic_store(&cgx_mpi_found, &mpi);
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
