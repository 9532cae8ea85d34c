/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The states that a call site comes to, the same on all ranks. */
#include "comm/callsite.h"

#include <math.h>

#include "lib/tap.h"

static const struct cgx_verdict unknown = {CGX_CONSENSUS_UNKNOWN, NAN, INFINITY};
static const struct cgx_verdict nothing = {CGX_CONSENSUS_NONE, 1, 2};
static const struct cgx_verdict slow = {CGX_CONSENSUS_NONE, 1, 0.3};
static const struct cgx_verdict weights = {CGX_CONSENSUS_CLOSE, 1e-3, 2};

static void note(struct cgx_callsite *site, enum cgx_site_event event)
{
    cgx_callsite_note(site, &(struct cgx_site_note){.event = event});
}

static void judge(struct cgx_callsite *site, const struct cgx_verdict *verdict, bool far)
{
    cgx_callsite_note(
        site, &(struct cgx_site_note){.event = CGX_EVENT_JUDGED, .verdict = *verdict, .far = far});
}

/* What may happen, and the states after it, by the state before: N, S, D, B, C; the second with the
 * last sample that a decision takes. A site that is sampled has one that waits to be judged. */
#define NOTES 10
static const struct {
    const char *name, *once, *last;
    struct cgx_site_note note;
} notes[NOTES] = {
    {"an exact call is sampled", "SSDBC", "SSDBC", {.event = CGX_EVENT_SAMPLED}},
    {"all ranks can", "CCCCC", "CCCCC", {.event = CGX_EVENT_AGREED}},
    {"some rank cannot",
     "DDDDD",
     "DDDDD",
     {.event = CGX_EVENT_DECLINED, .reason = CGX_REASON_OVERLAP}},
    {"the sample says nothing", "NNDBC", "SSDBC", {.event = CGX_EVENT_JUDGED, .verdict = {0}}},
    {"the sample is far from a consensus",
     "SSDBC",
     "CCCCC",
     {.event = CGX_EVENT_JUDGED, .verdict = {CGX_CONSENSUS_NONE, 1, 2}, .far = true}},
    {"the sample is near one",
     "SSDBC",
     "CCCBC",
     {.event = CGX_EVENT_JUDGED, .verdict = {CGX_CONSENSUS_NONE, 1, 2}}},
    {"the sample is one of a consensus",
     "SSDBC",
     "BBBBB",
     {.event = CGX_EVENT_JUDGED, .verdict = {CGX_CONSENSUS_CLOSE, 1e-3, 2}}},
    {"the call fails", "NNDBC", "SSDBC", {.event = CGX_EVENT_UNSERVED}},
    {"a compressed call is done", "NNDBC", "SSDBC", {.event = CGX_EVENT_RAN}},
    {"a compressed call is done again",
     "SSDBC",
     "SSDBC",
     {.event = CGX_EVENT_ALARMED, .verdict = {CGX_CONSENSUS_CLOSE, 1e-3, 2}}},
};

/* A site in STATE, LAST: one sample before a decision either way. */
static struct cgx_callsite site_in(enum cgx_site_state in, bool last)
{
    struct cgx_callsite site = {.state = in,
                                .sample.pending = in == CGX_SITE_SAMPLED,
                                .history.agreed = in == CGX_SITE_COMPRESSED};

    site.sample.clear = last ? 3 : 0;
    site.sample.strikes = last ? 2 - (in != CGX_SITE_COMPRESSED) : 0;
    return site;
}

static void test_transitions(void)
{
    static const char letters[CGX_SITE_STATES] = "NSDBC";
    bool seen[CGX_SITE_EVENTS] = {false}, all = true;

    for (int i = 0; i < NOTES; i++) {
        bool right = true;

        for (enum cgx_site_state in = 0; in < CGX_SITE_STATES; in++) {
            struct cgx_callsite once = site_in(in, false), last = site_in(in, true);

            cgx_callsite_note(&once, &notes[i].note);
            cgx_callsite_note(&last, &notes[i].note);
            right = right && letters[once.state] == notes[i].once[in] &&
                    letters[last.state] == notes[i].last[in] &&
                    once.sample.pending == (notes[i].note.event == CGX_EVENT_SAMPLED) &&
                    (last.state <= CGX_SITE_SAMPLED || last.state == in ||
                     last.sample.clear + last.sample.strikes == 0) &&
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
    const struct cgx_consensus_sample *x = &a->sample, *y = &b->sample;

    return a->state == b->state && a->declined.wait == b->declined.wait &&
           a->blocked.wait == b->blocked.wait && a->unknown.wait == b->unknown.wait &&
           x->pending == y->pending && x->clear == y->clear && x->strikes == y->strikes &&
           x->watched == y->watched && x->ignored == y->ignored && x->still == y->still;
}

/* Two ranks with the same events, of which one has other reasons, votes and memory. */
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
        there.sample.data_vote[0] = random;
        cgx_callsite_recent(&there, 64);
        cgx_callsite_note(&here, &mine);
        cgx_callsite_note(&there, &other);
        cgx_callsite_watch(&here);
        cgx_callsite_watch(&there);
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
    judge(site, &unknown, false);
}

static void clear(struct cgx_callsite *site)
{
    judge(site, &nothing, true);
}

static void strike(struct cgx_callsite *site)
{
    judge(site, &weights, false);
}

static void block(struct cgx_callsite *site)
{
    strike(site);
    if (site->state != CGX_SITE_BLOCKED)
        strike(site);
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
    ok(waits_are(&site, block, blocked, 6), "after a consensus, after 10, 20, ... 100 calls");
    ok(waits_are(&site, puzzle, puzzled, 9),
       "where nothing could be said, after 1, 2, 4, ... 100 calls");
    puzzle(&site);
    note(&site, CGX_EVENT_AGREED);
    ok(site.state == CGX_SITE_COMPRESSED && cgx_callsite_due(&site), "then they may agree");
    cgx_callsite_drop(&site);
}

/* ---- samples ---- */

/* Samples that find nothing until calls are compressed; at most 10. */
static unsigned clears_for(struct cgx_callsite *site)
{
    unsigned samples = 0;

    for (; site->state != CGX_SITE_COMPRESSED && samples < 10; samples++)
        clear(site);
    return samples;
}

static void test_turns(void)
{
    struct cgx_callsite site = {0};

    strike(&site);
    clear(&site);
    ok(site.sample.places == 0, "samples are of the same elements");
    strike(&site);
    ok(site.state == CGX_SITE_BLOCKED, "weights in every second call are blocked");
    ok(site.sample.places != 0, "and sampled at others next");
    wait_for(&site);
    clear(&site);
    strike(&site);
    ok(site.state == CGX_SITE_BLOCKED && site.blocked.wait == 20, "and stay so");
    wait_for(&site);
    judge(&site, &nothing, false);
    ok(site.state == CGX_SITE_BLOCKED && site.blocked.wait == 40,
       "as what is near a consensus does");
    wait_for(&site);
    ok(clears_for(&site) == 4, "what is far from one four times is compressed");
    cgx_callsite_drop(&site);
    strike(&site);
    clear(&site);
    clear(&site);
    strike(&site);
    ok(site.state == CGX_SITE_SAMPLED, "two samples that find nothing between two that do, and "
                                       "the calls are not blocked");
    cgx_callsite_drop(&site);
    for (int i = 0; i < 3; i++)
        clear(&site);
    strike(&site);
    clear(&site);
    ok(site.state == CGX_SITE_SAMPLED && clears_for(&site) == 3,
       "four times in a row: one of a consensus between them starts the count anew");
    cgx_callsite_drop(&site);
}

/* Averages change, too, while training begins. */
static void test_slow(void)
{
    struct cgx_callsite site = {0};

    for (int i = 0; i < 15; i++)
        judge(&site, &slow, true);
    ok(site.state == CGX_SITE_SAMPLED, "what changes by three tenths is sampled fifteen times");
    judge(&site, &slow, true);
    ok(site.state == CGX_SITE_COMPRESSED, "and compressed after the sixteenth");
    cgx_callsite_drop(&site);
    for (int i = 0; i < 5; i++)
        judge(&site, &slow, true);
    clear(&site);
    ok(site.state == CGX_SITE_COMPRESSED, "or where it changes more, after four in all");
    cgx_callsite_drop(&site);
}

static void alarm_of(struct cgx_callsite *site, const struct cgx_verdict *verdict)
{
    cgx_callsite_note(site,
                      &(struct cgx_site_note){.event = CGX_EVENT_ALARMED, .verdict = weights});
    note(site, CGX_EVENT_SAMPLED);
    judge(site, verdict, false);
}

/* Compressed calls, until they are sampled for what the last alarm was of. */
static unsigned ignores(struct cgx_callsite *site)
{
    unsigned calls = 0;

    for (; site->sample.ignored != 0 && calls < 100; calls++)
        cgx_callsite_watch(site);
    return calls - 1;
}

static void test_alarms(void)
{
    static const unsigned ignored[] = {1, 2, 4, 8, 16, 32, 64, 64};
    struct cgx_callsite site = {0};
    bool right = true;

    note(&site, CGX_EVENT_AGREED);
    for (int i = 0; i < 8; i++) {
        alarm_of(&site, &nothing);
        right = right && site.sample.ignored == 1u << CGX_CONSENSUS_CLOSE &&
                ignores(&site) == ignored[i];
    }
    ok(right, "an alarm that is not confirmed is not given again during 1, 2, ... 64 calls");
    alarm_of(&site, &weights);
    ok(site.state == CGX_SITE_COMPRESSED && site.sample.ignored == 0 && site.sample.strikes == 1,
       "one compressed call that was a consensus may be a stray");
    alarm_of(&site, &unknown);
    ok(site.state == CGX_SITE_COMPRESSED && site.sample.ignored == 0,
       "what cannot be sampled is not ignored");
    note(&site, CGX_EVENT_RAN);
    alarm_of(&site, &weights);
    ok(site.state == CGX_SITE_COMPRESSED, "a call between two says that they are not in a row");
    alarm_of(&site, &weights);
    ok(site.state == CGX_SITE_BLOCKED && site.blocked.wait == 10, "two in a row block the calls");
    cgx_callsite_drop(&site);
}

/* Compressed calls of which every STRIDE-th has hardly changed, before one of them is done
 * again; at most 100. */
static unsigned stills(struct cgx_callsite *site, unsigned stride)
{
    for (unsigned calls = 1; calls < 100; calls++) {
        bool still = calls % stride == 0;

        if (still && site->sample.still >= CGX_STILL_ENOUGH)
            return calls / stride;
        cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_RAN, .still = still});
    }
    return 0;
}

static void test_still(void)
{
    struct cgx_callsite site = {0};

    note(&site, CGX_EVENT_AGREED);
    ok(site.sample.still >= CGX_STILL_ENOUGH, "one sum that is still is enough where no exact call "
                                              "was sampled");
    cgx_callsite_drop(&site);
    clears_for(&site);
    ok(stills(&site, 1) == 3, "else the third in a row is done again");
    cgx_callsite_drop(&site);
    clears_for(&site);
    ok(stills(&site, 2) == 4, "or the fourth of every second call");
    cgx_callsite_drop(&site);
    clears_for(&site);
    ok(stills(&site, 3) == 0, "but none of every third");
    cgx_callsite_drop(&site);
}

static void test_sums(void)
{
    struct cgx_callsite site = {0};
    struct cgx_recent *recent = cgx_callsite_recent(&site, 64);

    ok(recent && recent->most == 64 && cgx_callsite_recent(&site, 64) == recent,
       "the memory of the last sums is kept");
    recent = cgx_callsite_recent(&site, 128);
    ok(recent && recent->most == 128 && recent->count == 0, "or made anew in another size");
    block(&site);
    ok(!site.sample.recent, "what is sampled next has no sums before it");
    cgx_callsite_drop(&site);
    cgx_callsite_recent(&site, 64);
    puzzle(&site);
    ok(!site.sample.recent && site.sample.places == 1,
       "nor where the sample said nothing, and other elements are sampled");
    cgx_callsite_drop(&site);
}

int main(void)
{
    test_transitions();
    test_ranks();
    test_waits();
    test_turns();
    test_slow();
    test_alarms();
    test_still();
    test_sums();
    return done_testing();
}
