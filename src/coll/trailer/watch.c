/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/trailer/watch.h"

#include <math.h>
#include <string.h>

#include "util/float_state.h"

/* If at least this many elements have one sign, it is not by chance. */
#define SIGNED_ELEMENTS 1024

/* Members' data are disjoint if at least this many sampled buckets of the sum are not empty, and
 * this many times as many as have several contributors, as where members' parts meet. */
#define GATHERED_BUCKETS 8
#define GATHERED_TIMES 8

/* The words in a message; a float64 as its upper half. */
enum {
    WORD_DEVIATION,
    WORD_MEAN,
    WORD_SIGNS, /* from bit 2 on the bringer */
    WORD_BUCKETS,
    WORD_CHANGE,
    WORD_SQUARES,
    WORD_ALONE,
    WORD_SHARED,
    WORDS
};
_Static_assert(WORDS * sizeof(uint32_t) == CGX_WATCHED_BYTES, "the layout");

bool cgx_watch_sees(const struct cgx_schedule *schedule)
{
    const struct cgx_plan *plan = schedule->plan;

    for (size_t i = 0; i < plan->nsegments; i++) {
        if (plan->segments[i].bits < CGX_INSPECT_LEAST_BITS)
            return false;
    }
    return schedule->trailers[CGX_TRAILER_WATCH];
}

static bool needed(const struct cgx_schedule *schedule, const struct cgx_scheme *scheme)
{
    (void)schedule;
    return scheme->watched;
}

static bool is_asked(const struct cgx_coll *coll)
{
    return coll->watching.threshold > 0;
}

/* ---- in messages ---- */

/* Writes SIGHT as the trailer of PART in staging memory. */
static void put(const struct cgx_slice *slice, const struct cgx_block *part,
                const struct cgx_sight *sight)
{
    const uint32_t words[WORDS] = {
        [WORD_DEVIATION] = cgx_upper_half(sight->deviation),
        [WORD_MEAN] = cgx_upper_half(sight->mean),
        [WORD_SIGNS] = sight->signs | sight->bringer << 2,
        [WORD_BUCKETS] = sight->buckets,
        [WORD_CHANGE] = cgx_upper_half(sight->change.difference),
        [WORD_SQUARES] = cgx_upper_half(sight->change.squares),
        [WORD_ALONE] = sight->alone,
        [WORD_SHARED] = sight->shared,
    };

    memcpy(slice->slot->staging + part->trailers[CGX_TRAILER_WATCH], words, sizeof words);
}

/* Reads the trailer of PART in MESSAGE, which begins at staging offset ORIGIN. */
static struct cgx_sight get(const struct cgx_block *part, const unsigned char *message,
                            size_t origin)
{
    uint32_t words[WORDS];

    memcpy(words, message + part->trailers[CGX_TRAILER_WATCH] - origin, sizeof words);
    return (struct cgx_sight){.deviation = cgx_from_upper_half(words[WORD_DEVIATION]),
                              .mean = cgx_from_upper_half(words[WORD_MEAN]),
                              .signs = words[WORD_SIGNS] & 3,
                              .buckets = words[WORD_BUCKETS],
                              .alone = words[WORD_ALONE],
                              .shared = words[WORD_SHARED],
                              .bringer = words[WORD_SIGNS] >> 2,
                              .change = {cgx_from_upper_half(words[WORD_CHANGE]),
                                         cgx_from_upper_half(words[WORD_SQUARES])}};
}

static struct cgx_sight sample(struct cgx_slice *slice, const struct cgx_block *part,
                               const struct cgx_payloads *from, bool last)
{
    const unsigned char *seen_before = cgx_watch_seen_before(slice, from, last);
    bool samples = cgx_watch_is_sampled(slice, part, last);
    struct cgx_watch_results results;
    struct cgx_sight sight = {0};

    if (seen_before)
        sight = get(part, seen_before, from->origin);
    if (!cgx_watch_inspected(slice, part, from, last, &results))
        return sight;
    if (samples) {
        cgx_sight_distance(slice, &results, &sight);
        cgx_sight_members(slice, &results, &sight);
    }
    if (last)
        cgx_sight_sum(slice, part, &results, &sight);
    return sight;
}

static void seal(struct cgx_slice *slice, const struct cgx_block *part,
                 const struct cgx_payloads *from, bool last)
{
    struct cgx_sight sight;

    if (!is_asked(slice->coll))
        return;
    sight = sample(slice, part, from, last);
    put(slice, part, &sight);
}

/* ---- the verdict ---- */

static void add(struct cgx_sight *all, const struct cgx_sight *part)
{
    all->deviation += part->deviation;
    all->mean += part->mean;
    all->signs |= part->signs;
    all->buckets += part->buckets;
    all->alone += part->alone;
    all->shared += part->shared;
    all->bringer = cgx_bringers(all->bringer, part->bringer);
    all->change.difference += part->change.difference;
    all->change.squares += part->change.squares;
}

static struct cgx_verdict judge(const struct cgx_sight *all, const struct cgx_coll *coll)
{
    const uint32_t ignored = coll->watching.ignored;
    bool is_one_sign = all->signs == CGX_SIGN_POSITIVE || all->signs == CGX_SIGN_NEGATIVE;
    struct cgx_findings findings = {
        .disjoint = all->bringer == CGX_BRINGERS && all->alone >= GATHERED_BUCKETS &&
                    all->alone >= GATHERED_TIMES * all->shared,
        .one_sign = is_one_sign &&
                    (size_t)all->buckets * coll->schedule->plan->bucket_size >= SIGNED_ELEMENTS,
        .distance = all->mean > 0 ? all->deviation / all->mean : INFINITY,
        .change = cgx_change_of(&all->change),
    };
    struct cgx_verdict verdict;

    if (!(all->mean > 0 || all->deviation > 0 || findings.one_sign || findings.disjoint))
        return (struct cgx_verdict){CGX_CONSENSUS_UNKNOWN, NAN, INFINITY};
    findings.disjoint = findings.disjoint && !(ignored & 1u << CGX_CONSENSUS_DISJOINT);
    findings.one_sign = findings.one_sign && !(ignored & 1u << CGX_CONSENSUS_ONE_SIGN);
    if (ignored & 1u << CGX_CONSENSUS_STILL)
        findings.change = INFINITY;
    verdict = cgx_consensus_of(
        &findings, ignored & 1u << CGX_CONSENSUS_CLOSE ? 0 : (double)coll->watching.threshold);
    verdict.change = cgx_change_of(&all->change);
    return verdict;
}

static void take(struct cgx_coll *coll, const struct cgx_slice *slice)
{
    struct cgx_sight all = {0};
    union cgx_float_state caller;

    if (!is_asked(coll) || slice->number > 0 || slice->missed)
        return;
    cgx_float_enter(&caller);
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(coll->schedule); chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];
        struct cgx_sight sight;

        if (!cgx_slice_has_trailer(part, CGX_TRAILER_WATCH))
            continue;
        sight = get(part, slice->slot->staging, 0);
        add(&all, &sight);
    }
    coll->seen = judge(&all, coll);
    cgx_float_leave(&caller);
}

const struct cgx_trailer cgx_watch = {.needed = needed,
                                      .by_first = CGX_WATCHED_BYTES,
                                      .inspect = cgx_watch_queue,
                                      .room = cgx_watch_room,
                                      .seal = seal,
                                      .take = take};
