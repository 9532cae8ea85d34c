/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The states that a call site comes to, the same on all ranks. */
#include "comm/callsite.h"

#include "lib/tap.h"

static void note(struct cgx_callsite *site, enum cgx_site_event event)
{
    cgx_callsite_note(site, &(struct cgx_site_note){.event = event});
}

static void judge(struct cgx_callsite *site, enum cgx_look look)
{
    cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_JUDGED, .look = look});
}

/* What may happen, and the states after it, by the state before: N, L, D, B, C; the second at
 * the last look of a window, or after two compressed calls that were held. */
#define NOTES 9
static const struct {
    const char *name, *once, *last;
    struct cgx_site_note note;
} notes[NOTES] = {
    {"an exact call is looked at", "LLDBC", "LLDBC", {.event = CGX_EVENT_LOOKED}},
    {"all ranks can", "CCCCC", "CCCCC", {.event = CGX_EVENT_AGREED}},
    {"some rank cannot",
     "DDDDD",
     "DDDDD",
     {.event = CGX_EVENT_DECLINED, .reason = CGX_REASON_OVERLAP}},
    {"the window shows nothing", "NNDBC", "NNDBC", {.event = CGX_EVENT_JUDGED}},
    {"the window shows gradients",
     "CCCCC",
     "CCCCC",
     {.event = CGX_EVENT_JUDGED, .look = CGX_LOOK_GRADIENT}},
    {"the window shows state",
     "BBBBB",
     "BBBBB",
     {.event = CGX_EVENT_JUDGED, .look = CGX_LOOK_STEADY}},
    {"the call fails", "NLDBC", "NLDBC", {.event = CGX_EVENT_UNSERVED}},
    {"a compressed call is done", "NLDBC", "NLDBC", {.event = CGX_EVENT_RAN}},
    {"a compressed call is held", "NLDBC", "NLDBN", {.event = CGX_EVENT_HELD}},
};

/* A site in STATE, and how far it is there. Its next look is in its window already. */
static struct cgx_callsite site_in(enum cgx_site_state in, bool last, bool looks)
{
    struct cgx_callsite site = {.state = in, .history.agreed = in == CGX_SITE_COMPRESSED};

    if (in == CGX_SITE_LOOKED_AT || looks)
        site.window.looks = last ? CGX_LOOK_WINDOW : 1;
    site.held = in == CGX_SITE_COMPRESSED && last ? 2 : 0;
    return site;
}

static void test_transitions(void)
{
    static const char letters[CGX_SITE_STATES] = "NLDBC";
    bool seen[CGX_SITE_EVENTS] = {false}, all = true;

    for (int i = 0; i < NOTES; i++) {
        bool right = true, looks = notes[i].note.event == CGX_EVENT_LOOKED;

        for (enum cgx_site_state in = 0; in < CGX_SITE_STATES; in++) {
            struct cgx_callsite once = site_in(in, false, looks), last = site_in(in, true, looks);

            cgx_callsite_note(&once, &notes[i].note);
            cgx_callsite_note(&last, &notes[i].note);
            right = right && letters[once.state] == notes[i].once[in] &&
                    letters[last.state] == notes[i].last[in] && !once.pending &&
                    last.pending == looks &&
                    (once.state == in || once.window.looks == 0 || looks) &&
                    once.history.agreed == (in == CGX_SITE_COMPRESSED && once.state == in) &&
                    last.history.agreed == (in == CGX_SITE_COMPRESSED && last.state == in);
            if (!right)
                diag("from %c: %c, %c", letters[in], letters[once.state], letters[last.state]);
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
    return a->state == b->state && a->declined.wait == b->declined.wait &&
           a->blocked.wait == b->blocked.wait && a->unknown.wait == b->unknown.wait &&
           a->pending == b->pending && a->clear == b->clear && a->suspect == b->suspect &&
           a->held == b->held && a->window.looks == b->window.looks;
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

/* Two ranks with the same events, of which one has other reasons, findings and memory. */
static void test_ranks(void)
{
    struct cgx_callsite here = {0}, there = {0};
    bool alike = true, reached[CGX_SITE_STATES] = {false};
    uint32_t random = 1;

    for (int i = 0; i < 100000; i++) {
        struct cgx_site_note mine, other;

        reached[here.state] = true;
        if (i % 100 == 0) {
            cgx_callsite_drop(&here);
            cgx_callsite_drop(&there);
        }
        random = random * 1664525 + 1013904223;
        mine = other = notes[(random >> 16) % NOTES].note;
        other.reason = (random >> 8) % 2 ? CGX_REASON_NONE : CGX_REASON_NO_MEMORY;
        if (mine.event == CGX_EVENT_LOOKED) {
            look(&here, CGX_LOOK_GRADIENT, true);
            look(&there, CGX_LOOK_STILL, false);
        }
        cgx_callsite_note(&here, &mine);
        cgx_callsite_note(&there, &other);
        alike =
            alike && cgx_callsite_due(&here) == cgx_callsite_due(&there) && is_alike(&here, &there);
        reached[here.state] = true;
    }
    for (int i = 0; i < CGX_SITE_STATES; i++)
        alike = alike && reached[i];
    ok(alike, "whatever happens, two ranks hold the same, in all states");
    cgx_callsite_drop(&here);
    cgx_callsite_drop(&there);
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
    ok(site.state == CGX_SITE_COMPRESSED && cgx_callsite_due(&site), "then they may agree");
    cgx_callsite_drop(&site);
}

/* ---- calls that are held ---- */

static void test_held(void)
{
    struct cgx_callsite site = {0};

    judge(&site, CGX_LOOK_GRADIENT);
    ok(site.state == CGX_SITE_COMPRESSED && site.clear, "a window of gradients clears a site");
    note(&site, CGX_EVENT_HELD);
    note(&site, CGX_EVENT_HELD);
    note(&site, CGX_EVENT_RAN);
    note(&site, CGX_EVENT_HELD);
    note(&site, CGX_EVENT_HELD);
    ok(site.state == CGX_SITE_COMPRESSED && site.runs == 1,
       "two held calls in a row change nothing");
    cgx_sizes_add(&site.inputs.sizes, 1);
    note(&site, CGX_EVENT_HELD);
    ok(site.state == CGX_SITE_NEW && !site.clear && site.suspect && site.inputs.sizes.count == 0,
       "the third begins anew, without the sizes before");
    judge(&site, CGX_LOOK_GRADIENT);
    ok(site.clear && !site.suspect, "until a window shows gradients again");
    judge(&site, CGX_LOOK_ALIKE);
    ok(!site.clear, "state takes that back");
    cgx_callsite_drop(&site);
}

int main(void)
{
    test_transitions();
    test_ranks();
    test_waits();
    test_held();
    return done_testing();
}
