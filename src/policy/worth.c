/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/worth.h"

#include <stdlib.h>
#include <string.h>

#include "util/integers.h"

#define UNIT_NS 100
#define EXACT_ENOUGH 4
#define FIRST 8 /* sums until the first comparison, ... */
#define LATER 4 /* ... that of a later try, ... */
#define NEXT 4  /* ... and the next one is after so many times as many */
/* Slower by this many tenths. */
#define TENTHS_YOUNG 15
#define TENTHS 11

void cgx_times_add(struct cgx_times *times, int64_t nanoseconds)
{
    const int64_t units = nanoseconds < 0 ? 0 : nanoseconds / UNIT_NS;

    times->last[times->count++ % CGX_TIMES] = (uint32_t)(units < INT32_MAX ? units : INT32_MAX);
}

bool cgx_worth_is_due(const struct cgx_worth *worth)
{
    uint64_t at = worth->again ? LATER : FIRST;

    while (at < worth->compressed.count)
        at *= NEXT;
    return worth->compressed.count == at && worth->exact.count >= EXACT_ENOUGH;
}

void cgx_worth_vote(const struct cgx_worth *worth, uint32_t words[CGX_WORTH_WORDS])
{
    memcpy(words, worth->exact.last, sizeof worth->exact.last);
    memcpy(words + CGX_TIMES, worth->compressed.last, sizeof worth->compressed.last);
}

void cgx_worth_forget(struct cgx_worth *worth)
{
    worth->compressed = (struct cgx_times){.count = 0};
    worth->again = true;
}

static int compare(const void *a, const void *b)
{
    uint32_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

struct summary {
    uint64_t least, median;
};

static struct summary summarise(const struct cgx_times *times, const uint32_t words[CGX_TIMES])
{
    const size_t count = cgx_smaller(times->count, CGX_TIMES);
    uint32_t sorted[CGX_TIMES];

    memcpy(sorted, words, sizeof sorted);
    qsort(sorted, count, sizeof sorted[0], compare);
    return (struct summary){sorted[0], sorted[count / 2]};
}

bool cgx_worth_is_slower(const struct cgx_worth *worth, const uint32_t words[CGX_WORTH_WORDS],
                         struct cgx_worth_times *times)
{
    const struct summary exact = summarise(&worth->exact, words);
    const struct summary compressed = summarise(&worth->compressed, words + CGX_TIMES);
    const bool young = !worth->again && worth->compressed.count <= FIRST;
    const uint64_t tenths = young ? TENTHS_YOUNG : TENTHS;

    *times = (struct cgx_worth_times){1e-9 * UNIT_NS * (double)exact.median,
                                      1e-9 * UNIT_NS * (double)compressed.median};
    return 10 * compressed.least > tenths * exact.least &&
           10 * compressed.median > tenths * exact.median;
}
