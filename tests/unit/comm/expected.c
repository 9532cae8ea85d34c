/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The sites that the step expects: the same on all ranks, whatever these have to themselves, and
 * only where a look for the site, for what rules and hints say of it, and for its next ballot would
 * find the same site, with nothing to decide. */
#include "comm/decide.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm/private_comm.h"
#include "mpi/config.h"

#include "lib/tap.h"

enum { RANKS = 3, PERIOD = 4 };
static const uint64_t step[PERIOD] = {20000, 30000, 40000, 30000};

static struct cgx_comm ranks[RANKS];
static uint32_t drawn = 1;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525 + 1013904223;
    return (drawn >> 8) % below;
}

/* ---- an MPI whose ranks say the same ---- */

/* What turns out while ranks meet. */
enum change { NOTHING, SLOWER, BY_DEVICE, SUSPENDED, NO_MEMORY, CHANGES };
static enum change change;
static struct cgx_comm *meeting;

static int reduce(const void *sendbuf, void *recvbuf, int count, cgx_mpi_datatype type,
                  cgx_mpi_op op, cgx_mpi_comm comm)
{
    struct cgx_kind *kind = &meeting->shared.kinds[CGX_TYPE_FLOAT32];

    (void)sendbuf, (void)recvbuf, (void)count, (void)type, (void)op, (void)comm;
    if (change == SLOWER)
        meeting->scheme.network.local_byte_ps += 10;
    if (change == BY_DEVICE || change == SUSPENDED)
        kind->by_device = change == BY_DEVICE;
    kind->p2p_suspended.next = change == SUSPENDED ? 16 : 0;
    if (change == NO_MEMORY)
        meeting->work->reserved = (struct cgx_needs){.slots = 1};
    change = NOTHING;
    return CGX_MPI_SUCCESS;
}

static int get_handler(cgx_mpi_comm comm, cgx_mpi_errhandler *handler)
{
    (void)comm, (void)handler;
    return CGX_MPI_SUCCESS;
}

static int set_handler(cgx_mpi_comm comm, cgx_mpi_errhandler handler)
{
    (void)comm, (void)handler;
    return CGX_MPI_SUCCESS;
}

static int free_handler(cgx_mpi_errhandler *handler)
{
    (void)handler;
    return CGX_MPI_SUCCESS;
}

static int is_initialized(int *flag)
{
    *flag = 0;
    return CGX_MPI_SUCCESS;
}

/* ---- what happens, on one rank ---- */

static struct cgx_callsite_key key_of(uint64_t count, size_t position)
{
    return (struct cgx_callsite_key){
        .count = count, .type = CGX_TYPE_FLOAT32, .position = (uint32_t)position};
}

/* Ranks decide on SITE, if that is due. */
static void ask(struct cgx_comm *state, struct cgx_callsite *site)
{
    static const struct cgx_request request = {.count = 1};
    struct cgx_capability capability = {.request = &request};

    meeting = state;
    if (cgx_decide_is_due(state, site) && cgx_decide(state, site, &capability) != CGX_MPI_SUCCESS)
        bail_out("ranks cannot decide");
}

/* A sum that is looked for, as pmpi/allreduce.c does. */
static void serve(struct cgx_comm *state, const struct cgx_callsite_key *key)
{
    struct cgx_callsite *site = cgx_callsites_find(state, key, true);

    if (!site->refusal && cgx_callsite_due(site))
        ask(state, site);
}

static void take_hint(struct cgx_comm *state, const char *layers)
{
    const char *values[CGX_HINTS] = {[CGX_HINT_LAYERS] = layers};
    struct cgx_rules_error error;

    cgx_hints_parse(&state->terms.hints, values, &error);
    state->terms.taken++;
}

/* What only rank R has seen. */
static void see(struct cgx_comm *state, int r, uint32_t position)
{
    struct cgx_callsite *site = cgx_callsites_next(state->callsites, NULL);

    if (site)
        site->reason = r == 1 ? CGX_REASON_OVERLAP : CGX_REASON_NONE;
    cgx_range_add(&state->sizes[CGX_TYPE_FLOAT32], r + 1.0 + position);
    cgx_recurrence_wait(state->stream.recurrence, (r + 1) * 1000000);
    state->step.calls += (uint32_t)r;
}

/* ---- what must hold ---- */

/* Whether SITE, which is expected, is what would be found for KEY, with nothing to decide. */
static bool is_found(struct cgx_comm *state, struct cgx_callsite *site,
                     const struct cgx_callsite_key *key)
{
    const struct cgx_schedule before = site->schedule;
    const bool found = cgx_callsites_find(state, key, true) == site && !site->refusal &&
                       site->shared.state == CGX_SITE_COMPRESSED && before.slices > 0;
    const struct cgx_kind *kind = cgx_comm_kind(state, site);
    const bool counts = !kind->by_device && kind->p2p_suspended.next > 0;
    const bool decided = !counts && !cgx_decide_is_due(state, site) && site->shared.steady;

    return found && decided && before.plan.hash == site->schedule.plan.hash &&
           before.network.local_byte_ps == site->schedule.network.local_byte_ps;
}

/* The next sum, of KEY's count, on all ranks. */
static bool sum(uint64_t count, size_t *expected)
{
    struct cgx_callsite *first = NULL;
    bool right = true;

    for (int r = 0; r < RANKS; r++) {
        struct cgx_comm *state = &ranks[r];
        const struct cgx_occurrence occurrence =
            cgx_recurrence_next(state->stream.recurrence, count, CGX_TYPE_FLOAT32);
        const struct cgx_callsite_key key = key_of(count, occurrence.position);
        struct cgx_callsite *site =
            occurrence.expected ? cgx_callsites_expected(state, &key) : NULL;

        if (r == 0)
            first = site;
        right =
            right && (first != NULL) == (site != NULL) && (!site || is_found(state, site, &key));
        if (!site)
            serve(state, &key);
    }
    *expected += first != NULL;
    return right;
}

/* Something besides the step's sums happens on all ranks; a ballot shows one change. */
static void disturb(uint32_t what)
{
    static const char *const layers[] = {"16384:8,13616:4", "30000:exact", "1:8"};
    static const enum cgx_site_event events[] = {CGX_EVENT_HELD, CGX_EVENT_DECLINED, CGX_EVENT_RAN};
    const uint32_t position = draw(PERIOD), event = draw(3), count = 100000 + draw(1000);
    const enum change turn = (enum change)draw(CHANGES);

    for (int r = 0; r < RANKS; r++) {
        const struct cgx_callsite_key key = key_of(step[position], position);
        const struct cgx_callsite_key other = key_of(count, CGX_POSITION_NONE);

        change = turn;
        if (what == 0)
            take_hint(&ranks[r], layers[event]);
        else if (what == 1)
            serve(&ranks[r], &other);
        else if (what == 2)
            cgx_callsite_note(cgx_callsites_find(&ranks[r], &key, true),
                              &(struct cgx_site_note){.event = events[event]});
        else if (what == 3)
            cgx_recurrence_set_step(ranks[r].stream.recurrence, event ? PERIOD : 2 * PERIOD);
        else
            see(&ranks[r], r, position);
    }
}

static void test_ranks(void)
{
    enum { SUMS = 200000 };
    size_t expected = 0, at = 0;
    bool right = true;

    for (size_t i = 0; right && i < SUMS; i++) {
        uint32_t what = draw(400);

        if (what < 20)
            disturb(what < 4 ? what : what < 8 ? 1 : 4);
        else if (what == 20)
            right = sum(900000, &expected);
        change = NOTHING;
        right = sum(step[at], &expected) && right;
        at = (at + 1) % PERIOD;
    }
    ok(right, "all ranks expect the same, and what would be found");
    ok(expected > SUMS / 4 && expected < SUMS - SUMS / 8, "of many sums, but not of all");
    diag("%zu of %d", expected, SUMS);
}

/* Sites whose step is followed, and then is not. */
static void test_keys(void)
{
    struct cgx_comm *state = &ranks[0];
    size_t expected = 0, position = 0;
    struct cgx_callsite_key key;

    change = NOTHING;
    for (int r = 0; r < RANKS; r++)
        cgx_recurrence_set_step(ranks[r].stream.recurrence, PERIOD);
    for (int i = 0; i < 50 * PERIOD; i++)
        sum(step[i % PERIOD], &expected);
    while (position < PERIOD &&
           cgx_recurrence_expects(state->stream.recurrence, position).count != 20000)
        position++;
    key = key_of(20000, position);
    ok(cgx_callsites_expected(state, &key) != NULL, "a site is expected");
    key.count++;
    ok(!cgx_callsites_expected(state, &key), "not for another count");
    key.count--;
    cgx_recurrence_set_step(state->stream.recurrence, 2 * PERIOD);
    ok(!cgx_callsites_expected(state, &key), "nor where its position has another meaning");
}

int main(void)
{
    static const struct cgx_mpi mpi = {.Initialized = is_initialized,
                                       .Allreduce = reduce,
                                       .Comm_get_errhandler = get_handler,
                                       .Comm_set_errhandler = set_handler,
                                       .Errhandler_free = free_handler};
    static struct cgx_private_comm private = {.comm = (cgx_mpi_comm)ranks};
    struct cgx_nodes *nodes = cgx_nodes_create(NULL, RANKS);
    const char *top = getenv("top_srcdir");
    char rules[4096];

    setenv("CGX_LOG", "error", 1);
    snprintf(rules, sizeof rules, "%s/tests/lib/unjudged.rules", top ? top : ".");
    setenv("CGX_RULES", rules, 1);
    atomic_store(&cgx_mpi_found, &mpi);
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (struct cgx_comm){.rank = r, .size = RANKS, .work = &ranks[r].alone};
        ranks[r].scheme.nodes = ranks[r].scheme.flat = nodes;
        ranks[r].private = &private;
        ranks[r].shared.connected = true;
        if (!nodes || !cgx_tables_make(&ranks[r]))
            bail_out("memory is short");
        cgx_recurrence_set_step(ranks[r].stream.recurrence, PERIOD);
    }
    test_ranks();
    test_keys();
    for (int r = 0; r < RANKS; r++) {
        cgx_tables_free(&ranks[r]);
        cgx_override_clear(&ranks[r].terms.hints);
        cgx_workspace_release(&ranks[r].alone, false);
    }
    cgx_nodes_free(nodes);
    return done_testing();
}
