/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The states that a call site comes to, the same on all ranks. */
#include "comm/callsite.h"

#include "codec/backend.h"
#include "comm/ballot.h"
#include "mpi/config.h"

#include "lib/tap.h"

static void note(struct cgx_callsite *site, enum cgx_site_event event)
{
    cgx_callsite_note(site, &(struct cgx_site_note){.event = event});
}

static void judge(struct cgx_callsite *site, enum cgx_look look)
{
    cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_JUDGED, .look = look});
}

/* What may happen, and the states after it, by the state before: N, D, B, C; the second at
 * the last look of a window, or after two compressed calls that were held. */
#define NOTES 10
static const struct {
    const char *name, *once, *last;
    struct cgx_site_note note;
} notes[NOTES] = {
    {"an exact call is looked at", "NDBC", "NDBC", {.event = CGX_EVENT_LOOKED}},
    {"all ranks can", "CCCC", "CCCC", {.event = CGX_EVENT_AGREED}},
    {"some rank cannot",
     "DDDD",
     "DDDD",
     {.event = CGX_EVENT_DECLINED, .reason = CGX_REASON_OVERLAP}},
    {"the window shows nothing", "NDBC", "NDBC", {.event = CGX_EVENT_JUDGED}},
    {"the window shows gradients",
     "CCCC",
     "CCCC",
     {.event = CGX_EVENT_JUDGED, .look = CGX_LOOK_GRADIENT}},
    {"the window shows state",
     "BBBB",
     "BBBB",
     {.event = CGX_EVENT_JUDGED, .look = CGX_LOOK_STEADY}},
    {"the call fails", "NDBC", "NDBC", {.event = CGX_EVENT_UNSERVED}},
    {"a compressed call is done", "NDBC", "NDBC", {.event = CGX_EVENT_RAN}},
    {"there is no memory for a history", "NDBC", "NDBC", {.event = CGX_EVENT_NO_HISTORY}},
    {"a compressed call is held", "NDBC", "NDBN", {.event = CGX_EVENT_HELD}},
};

/* A site in STATE, and how far it is there. Its next look is in its window already. */
static struct cgx_callsite site_in(enum cgx_site_state in, bool last, bool looks)
{
    struct cgx_callsite site = {.shared.state = in,
                                .shared.history.begun = in == CGX_SITE_COMPRESSED};

    if (in == CGX_SITE_NEW || looks)
        site.window.looks = last ? CGX_LOOK_WINDOW : 1;
    site.shared.held = in == CGX_SITE_COMPRESSED && last ? 2 : 0;
    return site;
}

static void test_transitions(void)
{
    static const char letters[CGX_SITE_STATES] = "NDBC";
    bool seen[CGX_SITE_EVENTS] = {false}, all = true;

    for (int i = 0; i < NOTES; i++) {
        bool right = true, looks = notes[i].note.event == CGX_EVENT_LOOKED;

        for (enum cgx_site_state in = 0; in < CGX_SITE_STATES; in++) {
            struct cgx_callsite once = site_in(in, false, looks), last = site_in(in, true, looks);

            cgx_callsite_note(&once, &notes[i].note);
            cgx_callsite_note(&last, &notes[i].note);
            right =
                right && letters[once.shared.state] == notes[i].once[in] &&
                letters[last.shared.state] == notes[i].last[in] && !once.shared.pending &&
                last.shared.pending == looks &&
                (once.shared.state == in || once.window.looks == 0 || looks) &&
                once.shared.history.begun ==
                    (in == CGX_SITE_COMPRESSED && once.shared.state == in) &&
                last.shared.history.begun == (in == CGX_SITE_COMPRESSED && last.shared.state == in);
            if (!right)
                diag("from %c: %c, %c", letters[in], letters[once.shared.state],
                     letters[last.shared.state]);
            cgx_callsite_drop(&once);
            cgx_callsite_drop(&last);
        }
        ok(right, "%s: from each state to the one that follows", notes[i].name);
        seen[notes[i].note.event] = true;
    }
    for (int i = 0; i < CGX_SITE_EVENTS; i++)
        all = all && seen[i];
    ok(all, "these are all events");
}

/* What ranks must have in common. */
static bool is_alike(const struct cgx_callsite *a, const struct cgx_callsite *b)
{
    return a->shared.state == b->shared.state &&
           a->shared.declined.wait == b->shared.declined.wait &&
           a->shared.blocked.wait == b->shared.blocked.wait &&
           a->shared.unknown.wait == b->shared.unknown.wait &&
           a->shared.pending == b->shared.pending && a->shared.clear == b->shared.clear &&
           a->shared.suspect == b->shared.suspect && a->shared.held == b->shared.held &&
           a->shared.history.begun == b->shared.history.begun &&
           a->shared.history.retry.wait == b->shared.history.retry.wait &&
           a->shared.history.age == b->shared.history.age && a->window.looks == b->window.looks;
}

/* A look that finds FOUND, in memory if there is any. */
static void look(struct cgx_callsite *site, enum cgx_look found, bool has_memory)
{
    const struct cgx_sum_traits traits = {.placed = true};

    if (has_memory && !site->window.kept)
        site->window.kept = cgx_kept_create(64);
    cgx_window_look(&site->window, NULL, &traits);
    site->window.state += cgx_look_is_state(found);
}

enum { RANKS = 3 };

static uint32_t drawn = 1;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525 + 1013904223;
    return (drawn >> 16) % below;
}

/* Event N of the site, as it is at rank R, which has other reasons, findings and memory than the
 * others.
 */
static void take(struct cgx_callsite *site, int r, const struct cgx_site_note *event)
{
    struct cgx_site_note note = *event;

    note.reason = r == 1 ? CGX_REASON_NO_MEMORY : CGX_REASON_NONE;
    if (note.event == CGX_EVENT_LOOKED)
        look(site, r == 0 ? CGX_LOOK_GRADIENT : CGX_LOOK_STILL, r != 2);
    cgx_callsite_note(site, &note);
}

/* A compressed call, for whose history rank 1 has no memory. What came of it is LOST on one rank
 * alone, or the same on all. */
static void run(struct cgx_callsite *site, int r, enum cgx_outcome outcome)
{
    static const struct cgx_schedule schedule = {.plan = {.count = 1024, .has_history = true}};
    struct cgx_coll coll = {.schedule = &schedule, .backend = cgx_backend_host(), .vote = r == 1};
    static struct cgx_step step;

    cgx_callsite_attach(&step, site, &coll);
    cgx_callsite_conclude(&step, site, &coll,
                          outcome == CGX_OUTCOME_DONE && r == 2 ? CGX_OUTCOME_LOST : outcome);
    if (outcome == CGX_OUTCOME_DECLINED && coll.has_history && coll.age == 0)
        note(site, CGX_EVENT_NO_HISTORY);
}

/* Ranks with the same events, of which each has other facts of its own. */
static void test_ranks(void)
{
    static const enum cgx_outcome outcomes[] = {CGX_OUTCOME_DONE, CGX_OUTCOME_DONE,
                                                CGX_OUTCOME_HELD, CGX_OUTCOME_DECLINED,
                                                CGX_OUTCOME_UNRECOVERABLE};
    struct cgx_callsite ranks[RANKS] = {0};
    bool alike = true, reached[CGX_SITE_STATES] = {false}, due[CGX_BALLOT_KINDS] = {false};

    for (int i = 0; i < 200000; i++) {
        const struct cgx_site_note *event = &notes[draw(NOTES)].note;
        enum cgx_outcome outcome = outcomes[draw(5)];
        const uint32_t kind = draw(5);
        const bool yes = draw(2), forgets = draw(100) == 0;

        for (int r = 0; r < RANKS; r++) {
            if (forgets)
                cgx_callsite_drop(&ranks[r]);
            ranks[r].key.position = 1;
            if (kind == 0)
                take(&ranks[r], r, event);
            else if (kind == 1)
                run(&ranks[r], r, outcome);
            else if (kind == 2)
                ranks[r].shared.served = yes;
            else if (kind == 3)
                ranks[r].shared.looks = yes;
            else
                cgx_callsite_due(&ranks[r]);
        }
        reached[ranks[0].shared.state] = true;
        due[cgx_ballot_due(&ranks[0].shared)] = true;
        for (int r = 0; r < RANKS; r++)
            alike = alike && is_alike(&ranks[0], &ranks[r]) &&
                    cgx_ballot_due(&ranks[0].shared) == cgx_ballot_due(&ranks[r].shared);
    }
    ok(alike, "whatever happens, all ranks hold the same, and the same ballots");
    for (int i = 0; i < CGX_SITE_STATES; i++)
        ok(reached[i], "in state %d", i);
    ok(due[CGX_BALLOT_NONE] && due[CGX_BALLOT_HAVE] && due[CGX_BALLOT_SITES], "at each ballot");
    for (int r = 0; r < RANKS; r++)
        cgx_callsite_drop(&ranks[r]);
}

/* ---- waits ---- */

/* Calls that stay exact until ranks ask each other again. */
static unsigned wait_for(struct cgx_callsite *site)
{
    unsigned waits = 0;

    while (!cgx_callsite_due(site))
        waits++;
    return waits;
}

static void decline(struct cgx_callsite *site)
{
    note(site, CGX_EVENT_DECLINED);
}

static void puzzle(struct cgx_callsite *site)
{
    judge(site, CGX_LOOK_UNKNOWN);
}

static void block(struct cgx_callsite *site)
{
    judge(site, CGX_LOOK_STILL);
}

static bool waits_are(struct cgx_callsite *site, void (*refuse)(struct cgx_callsite *),
                      const unsigned *waits, int count)
{
    bool right = true;

    for (int i = 0; i < count; i++) {
        refuse(site);
        right = wait_for(site) == waits[i] && right;
    }
    return right;
}

static void test_waits(void)
{
    static const unsigned declined[] = {4, 8, 16, 32}, blocked[] = {10, 20, 40, 80, 100, 100};
    static const unsigned puzzled[] = {1, 2, 4, 8, 16, 32, 64, 100, 100};
    struct cgx_callsite site = {0};

    ok(cgx_callsite_due(&site), "ranks ask each other in the first call");
    ok(waits_are(&site, decline, declined, 4),
       "after a rank could not, they ask again at doubling intervals");
    ok(site.reason == CGX_REASON_OTHER_RANK, "one that could says that another could not");
    ok(waits_are(&site, block, blocked, 6), "after state, after 10, 20, ... 100 calls");
    ok(waits_are(&site, puzzle, puzzled, 9),
       "where nothing could be said, after 1, 2, 4, ... 100 calls");
    puzzle(&site);
    note(&site, CGX_EVENT_AGREED);
    ok(site.shared.state == CGX_SITE_COMPRESSED && cgx_callsite_due(&site), "then they may agree");
    cgx_callsite_drop(&site);
}

/* ---- calls that are held ---- */

static void test_held(void)
{
    struct cgx_callsite site = {0};

    judge(&site, CGX_LOOK_GRADIENT);
    ok(site.shared.state == CGX_SITE_COMPRESSED && site.shared.clear,
       "a window of gradients clears a site");
    note(&site, CGX_EVENT_HELD);
    note(&site, CGX_EVENT_HELD);
    note(&site, CGX_EVENT_RAN);
    note(&site, CGX_EVENT_HELD);
    note(&site, CGX_EVENT_HELD);
    ok(site.shared.state == CGX_SITE_COMPRESSED && site.shared.runs == 1,
       "two held calls in a row change nothing");
    cgx_sizes_add(&site.inputs.sizes, 1);
    note(&site, CGX_EVENT_HELD);
    ok(site.shared.state == CGX_SITE_NEW && !site.shared.clear && site.shared.suspect &&
           site.inputs.sizes.count == 0,
       "the third begins anew, without the sizes before");
    judge(&site, CGX_LOOK_GRADIENT);
    ok(site.shared.clear && !site.shared.suspect, "until a window shows gradients again");
    judge(&site, CGX_LOOK_ALIKE);
    ok(!site.shared.clear, "state takes that back");
    cgx_callsite_drop(&site);
}

/* ---- histories ---- */

/* A compressed call of SITE, which ends in OUTCOME on all ranks. */
static struct cgx_coll compress(struct cgx_callsite *site, enum cgx_outcome outcome)
{
    static const struct cgx_schedule schedule = {.plan = {.count = 1024, .has_history = true}};
    struct cgx_coll coll = {.schedule = &schedule, .backend = cgx_backend_host()};
    struct cgx_step step = {.calls = 0};

    cgx_callsite_attach(&step, site, &coll);
    cgx_callsite_conclude(&step, site, &coll, outcome);
    return coll;
}

static void test_history(void)
{
    struct cgx_callsite site = {.shared.state = CGX_SITE_COMPRESSED};
    bool right = true;

    ok(!compress(&site, CGX_OUTCOME_DONE).has_history, "the first call has no history");
    note(&site, CGX_EVENT_RAN);
    for (unsigned wait = 64; wait <= 256; wait *= 2) {
        right = compress(&site, CGX_OUTCOME_DECLINED).has_history && right;
        note(&site, CGX_EVENT_NO_HISTORY);
        right = site.reason == CGX_REASON_NO_MEMORY && !site.history && right;
        for (unsigned i = 0; i < wait; i++)
            right = !compress(&site, CGX_OUTCOME_DONE).has_history && right;
    }
    ok(right, "after a rank had no memory, it begins anew after 64, 128, 256 calls");
    right = compress(&site, CGX_OUTCOME_HELD).age == 0 &&
            compress(&site, CGX_OUTCOME_DONE).age == 0 &&
            compress(&site, CGX_OUTCOME_DONE).age == 1;
    ok(right && site.history, "and counts its sums, but for those that were held");
    compress(&site, CGX_OUTCOME_LOST);
    ok(compress(&site, CGX_OUTCOME_DECLINED).vote == CGX_DECLINED && !site.shared.history.begun,
       "a rank that has lost it declines the next call, and none has it then");
    cgx_callsite_drop(&site);
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
    test_transitions();
    test_ranks();
    test_waits();
    test_held();
    test_history();
    return done_testing();
}
