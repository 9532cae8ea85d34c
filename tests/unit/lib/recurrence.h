/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums as letters: capitals are large sums, others small ones. */
#ifndef CGX_TESTS_RECURRENCE_H
#define CGX_TESTS_RECURRENCE_H

#include "policy/step/recurrence.h"

#include "lib/tap.h"

#define MINIMAL_SIZE 16384
#define LETTERS "ABCDEFGHIJKLMNOP"

static unsigned created;
static struct cgx_recurrence *recurrence; /* of the test that runs */

static inline struct cgx_recurrence *create(unsigned warmup, size_t step)
{
    struct cgx_recurrence *made = cgx_recurrence_create(warmup, MINIMAL_SIZE);

    if (!made)
        bail_out("memory is short");
    cgx_recurrence_set_step(made, step);
    created++;
    return made;
}

/* A new recurrence takes the place of the one before. */
static inline void begin(unsigned warmup, size_t step)
{
    cgx_recurrence_free(recurrence);
    recurrence = create(warmup, step);
}

static inline struct cgx_occurrence next(uint64_t count)
{
    return cgx_recurrence_next(recurrence, count, 1);
}

/* The next sum of MADE, and what follows if ranks compare their bursts after it. */
static inline struct cgx_occurrence next_compared(struct cgx_recurrence *made, uint64_t count,
                                                  unsigned type)
{
    struct cgx_occurrence occurrence = cgx_recurrence_next(made, count, type);
    struct cgx_burst burst;

    if (cgx_recurrence_should_compare(made)) {
        burst = cgx_recurrence_burst(made);
        if (burst.kind != CGX_BURST_NONE)
            cgx_recurrence_take_burst(made, &burst, &occurrence);
    }
    return occurrence;
}

static inline uint64_t count_of(char sum)
{
    return sum <= 'Z' ? 100000 + (uint64_t)sum * 1000 : (uint64_t)sum * 10;
}

/* Feeds TEXT, a letter a sum, REPEATS times; returns how many sums recurred. */
static inline size_t feed(const char *text, unsigned repeats)
{
    size_t recurring = 0;

    for (unsigned r = 0; r < repeats; r++) {
        for (const char *sum = text; *sum; sum++)
            recurring += next(count_of(*sum)).recurs;
    }
    return recurring;
}

#endif
