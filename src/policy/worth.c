/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/worth.h"

#include <stdlib.h>
#include <string.h>

#include "policy/step_size.h"
#include "util/integers.h"

#define ENOUGH 4 /* exact sums before the first try, and steady ones in each try */
#define LEAST_WAIT 64
#define MOST_WAIT 900
#define GROWTH 4
#define COST 100 /* a try costs its wait divided by this */

/* Sums of a try take much longer than others if they take this, in hundredths of the others' time:
 * the first sum if it is young, since it may be the first that uses its memory at all; the first;
 * the first two; and further ones. */
#define LONGER_YOUNG 400
#define LONGER_1 200
#define LONGER_2 150
#define LONGER 103
#define SHORTER 97

/* The youngest sums may take this, in hundredths of steady ones' time: they have twice as many
 * bits, in codes on which a processor works for longer. */
#define YOUNGEST 300

/* ---- a sum ---- */

static bool is_power_of_two(uint32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static enum cgx_way other_way(enum cgx_way way)
{
    return way == CGX_WAY_EXACT ? CGX_WAY_COMPRESSED : CGX_WAY_EXACT;
}

bool cgx_worth_is_due(const struct cgx_worth *worth)
{
    return worth->tries &&
           (is_power_of_two(worth->times[other_way(worth->way)].count) || worth->steady == ENOUGH);
}

static void make_room(struct cgx_times *times)
{
    times->last[times->count++ % CGX_TIMES] = CGX_TIME_UNKNOWN;
}

void cgx_worth_begin_exact(struct cgx_worth *worth)
{
    make_room(&worth->times[CGX_WAY_EXACT]);
}

/* The nearest settled class next to WORTH's; NULL if there is none. */
static const struct cgx_worth *neighbour_of(const struct cgx_worth *worth, unsigned class)
{
    for (unsigned i = 1; i <= 2; i++) {
        if (class >= i && (worth - i)->longer > LEAST_WAIT)
            return worth - i;
        if (class + i < CGX_WORTH_CLASSES && (worth + i)->longer > LEAST_WAIT)
            return worth + i;
    }
    return NULL;
}

static void begin_class(struct cgx_worth *worth, unsigned class)
{
    const struct cgx_worth *neighbour = neighbour_of(worth, class);
    const uint32_t exact = worth->times[CGX_WAY_EXACT].count;

    worth->longer = LEAST_WAIT;
    if (neighbour) {
        worth->way = neighbour->way;
        worth->wait = LEAST_WAIT;
    } else if (exact < ENOUGH) {
        worth->wait = ENOUGH - exact;
    }
}

enum cgx_way cgx_worth_next(struct cgx_worth *worth, unsigned class, uint32_t age)
{
    enum cgx_way way;

    if (worth->longer == 0)
        begin_class(worth, class);
    if (!worth->tries && worth->wait == 0) {
        worth->tries = true;
        worth->steady = 0;
        worth->times[other_way(worth->way)].count = 0;
    }
    way = worth->tries ? other_way(worth->way) : worth->way;
    make_room(&worth->times[way]);
    worth->young = way == CGX_WAY_COMPRESSED && age < CGX_STEP_YOUNG ? CGX_STEP_YOUNG - age : 0;
    if (worth->tries)
        worth->steady += worth->young == 0;
    else
        worth->wait--;
    return way;
}

void cgx_worth_took(struct cgx_worth *worth, enum cgx_way way, uint64_t elements,
                    int64_t nanoseconds)
{
    struct cgx_times *times = &worth->times[way];
    const double each = nanoseconds > 0 ? 1e3 * (double)nanoseconds / (double)elements : 0;

    /* Young sums that belong to no try are not measured. */
    if (times->count > 0 && (worth->tries || worth->young == 0))
        times->last[(times->count - 1) % CGX_TIMES] =
            each < CGX_TIME_UNKNOWN - 1 ? (int32_t)each : CGX_TIME_UNKNOWN - 1;
}

/* ---- comparing ---- */

void cgx_worth_vote(const struct cgx_worth *worth, int32_t words[CGX_WORTH_WORDS])
{
    for (int way = 0; way < CGX_WAYS; way++)
        memcpy(words + (size_t)way * CGX_TIMES, worth->times[way].last,
               sizeof worth->times[way].last);
}

static int compare_times(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

struct summary {
    /* The lower quartile and the median of times; a quartile of 0: no time is known. */
    uint64_t quarter, median;
};

static struct summary summarise_times(const struct cgx_worth *worth, enum cgx_way way,
                                      const int32_t words[CGX_WORTH_WORDS])
{
    size_t count = cgx_smaller(worth->times[way].count, CGX_TIMES);
    int32_t sorted[CGX_TIMES];

    memcpy(sorted, words + (size_t)way * CGX_TIMES, sizeof sorted);
    qsort(sorted, count, sizeof sorted[0], compare_times);
    while (count > 0 && sorted[count - 1] == CGX_TIME_UNKNOWN)
        count--;
    if (count == 0)
        return (struct summary){0, 0};
    return (struct summary){(uint64_t)sorted[count / 4] + 1, (uint64_t)sorted[count / 2] + 1};
}

/* Whether quartile and median of ONE exceed so many HUNDREDTHS of those of TWO. */
static bool is_above(struct summary one, struct summary two, uint64_t hundredths)
{
    return 100 * one.quarter > hundredths * two.quarter &&
           100 * one.median > hundredths * two.median;
}

/* How long the sums of a try take, in hundredths of later ones' time, if they are as fast. YOUNG is
 * the last one's. */
static uint64_t try_allowance(uint32_t young)
{
    return 100 + (uint64_t)(YOUNGEST - 100) * young / CGX_STEP_YOUNG;
}

/* The wait after a try, if the next try will have COUNT sums that take EACH, where others take
 * USUAL. */
static uint32_t wait_after(const struct cgx_worth *worth, uint64_t usual, uint64_t each,
                           uint32_t count)
{
    const uint64_t cost = each > usual ? (each - usual) * count : 0;

    return (uint32_t)cgx_smaller(cgx_larger(usual > 0 ? COST * cost / usual : 0, worth->longer),
                                 MOST_WAIT);
}

struct cgx_verdict cgx_worth_judge(struct cgx_worth *worth, const int32_t words[CGX_WORTH_WORDS])
{
    const enum cgx_way trial = other_way(worth->way);
    const struct summary now = summarise_times(worth, worth->way, words);
    const struct summary tried = summarise_times(worth, trial, words);
    const uint32_t count = worth->times[trial].count;
    const uint64_t limit = count > 2          ? LONGER
                           : count == 2       ? LONGER_2
                           : worth->young > 0 ? LONGER_YOUNG
                                              : LONGER_1;
    struct cgx_verdict verdict = {.ends = worth->steady >= ENOUGH};

    verdict.medians[worth->way] = now.median;
    verdict.medians[trial] = tried.median;
    if (tried.median > 0 && now.median > 0) {
        verdict.ends =
            verdict.ends || is_above(tried, now, limit * try_allowance(worth->young) / 100);
        verdict.changes = verdict.ends && is_above(now, tried, 10000 / SHORTER);
    }
    if (!verdict.ends)
        return verdict;
    worth->tries = false;
    if (verdict.changes)
        worth->wait = wait_after(worth, tried.median, now.median, 1);
    else
        worth->wait =
            wait_after(worth, now.median, tried.median * 100 / try_allowance(worth->young),
                       (uint32_t)cgx_smaller(count, ENOUGH));
    worth->longer = (uint32_t)cgx_smaller(GROWTH * worth->longer, MOST_WAIT);
    if (verdict.changes)
        worth->way = trial;
    return verdict;
}

/* ---- sizes ---- */

unsigned cgx_worth_class(uint64_t elements)
{
    unsigned octave = 0;

    while (elements >> octave > 511 && octave < CGX_WORTH_CLASSES / 2 - 1)
        octave++;
    return 2 * octave + (elements >> octave >= 384);
}
