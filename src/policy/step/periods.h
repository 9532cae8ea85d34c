/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The recent large sums, and whether a period in them is a training step. A single pass over a
 * model's weights also repeats itself, layer by layer. So a period counts as a step only if it
 * closes, with whole steps before it, and is of buckets, too long, or too diverse for layers. */
#ifndef CGX_POLICY_STEP_PERIODS_H
#define CGX_POLICY_STEP_PERIODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/sums.h"

/* The log always reaches back over two of the longest steps; older entries go in parts. */
#define CGX_HISTORY_PART (CGX_STEP_LONGEST / 4)
#define CGX_HISTORY_MOST (2 * CGX_STEP_LONGEST + CGX_HISTORY_PART)

struct cgx_sum_log {
    uint64_t end;     /* elements up to the latest large sum, since creation, small sums included */
    uint64_t ignored; /* elements of sums too small to count, since creation */
    uint32_t length;  /* number of large sums in the log */
    uint32_t elements; /* elements of small sums since the latest large one; saturates */
    uint32_t before;   /* elements of small sums before the longest pause since then */
    uint16_t pause;    /* the longest pause before one of these sums, as cgx_pause */
    bool dropped;      /* the log no longer reaches back to its creation */
    struct {
        uint32_t elements; /* elements of the small sums just before the large one */
        uint32_t before;   /* elements of small sums before the longest pause */
        uint16_t pause;    /* the longest pause before one of them, or before the large one */
        uint16_t sum;
    } calls[CGX_HISTORY_MOST];
    uint16_t match[CGX_STEP_LONGEST + 1]; /* room for a search */
};

/* A period with which the latest sums repeat. */
struct cgx_period {
    size_t length; /* in large sums; 0: none */
    size_t run;    /* large sums that it explains, the first period included */
    bool rich;     /* it is too long, or has too many kinds of sums, for a layer of a model */
    bool fused;    /* it has hardly any small sums: the program sums buckets */
};

/* Adds a PAUSE, as cgx_pause gives it, before the next sum. */
static inline void cgx_sum_log_wait(struct cgx_sum_log *log, uint16_t pause)
{
    if (pause > log->pause) {
        log->pause = pause;
        log->before = log->elements;
    }
}

void cgx_sum_log_add_small(struct cgx_sum_log *log, uint64_t count);
void cgx_sum_log_add(struct cgx_sum_log *log, const struct cgx_sums *sums, uint16_t sum);

/* Removes all entries up to the last sum that the table has forgotten. */
void cgx_sum_log_forget(struct cgx_sum_log *log, const struct cgx_sums *sums);

/* The index in the table of the sum that came AGO sums before the latest. */
static inline uint16_t cgx_sum_log_ago(const struct cgx_sum_log *log, size_t ago)
{
    return log->calls[log->length - 1 - ago].sum;
}

/* The period of the latest sums, if it is a step's: WARMUP of them have passed, and it is no pass
 * over layers. WARMUP 0: the sums are known to be of steps, and the period that explains most of
 * them is returned. */
struct cgx_period cgx_period_find(struct cgx_sum_log *log, const struct cgx_sums *sums,
                                  unsigned warmup);

/* The period of LENGTH large sums, if the latest sums have had it for at least WARMUP steps. */
struct cgx_period cgx_period_set(const struct cgx_sum_log *log, size_t length, unsigned warmup);

#endif
