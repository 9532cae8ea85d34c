/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The large sums of late, and whether a period in them is that of a training step. A program that
 * passes over the weights of a model once repeats itself too, layer by layer: a period is taken for
 * a step where it closes, so that all that came before is whole steps; where it is too long and its
 * sums are too diverse for layers; or where it has been repeated more often than models have
 * layers. */
#ifndef CGX_POLICY_STEP_PERIODS_H
#define CGX_POLICY_STEP_PERIODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/sums.h"

/* Two steps of the longest kind are always remembered; what is older goes by parts. */
#define CGX_HISTORY_PART (CGX_STEP_LONGEST / 4)
#define CGX_HISTORY_MOST (2 * CGX_STEP_LONGEST + CGX_HISTORY_PART)

struct cgx_sum_log {
    uint64_t end;     /* elements until the latest large sum, from the birth, small ones included */
    uint64_t ignored; /* elements of sums that say nothing, from the birth */
    uint32_t length;  /* in large sums */
    uint32_t elements; /* of small sums since the latest large one; saturates */
    uint16_t smalls;   /* as many they were; saturates */
    uint16_t pause;    /* the longest before one of them; as cgx_pause has it */
    bool dropped;      /* the log does not reach back to the birth */
    struct {
        uint32_t elements; /* of the small sums right before it */
        uint16_t smalls;
        uint16_t pause; /* the longest before one of them, or before it */
        uint16_t sum;   /* its number in the table of sums */
    } calls[CGX_HISTORY_MOST];
    uint16_t match[CGX_STEP_LONGEST + 1]; /* of a search */
};

/* A period in which the latest sums have repeated themselves. */
struct cgx_period {
    size_t length;     /* in large sums; 0: there is none */
    size_t run;        /* large sums that it explains, the first period included */
    unsigned distinct; /* kinds of sums in it, counted up to CGX_PERIOD_DIVERSE */
    bool fused;        /* hardly any small sums are among them: the program sums buckets */
};

#define CGX_PERIOD_DIVERSE 6

/* The next sum comes after a PAUSE, as cgx_pause has it. */
static inline void cgx_sum_log_wait(struct cgx_sum_log *log, uint16_t pause)
{
    if (pause > log->pause)
        log->pause = pause;
}

void cgx_sum_log_add_small(struct cgx_sum_log *log, uint64_t count);
void cgx_sum_log_add(struct cgx_sum_log *log, const struct cgx_sums *sums, uint16_t sum);

/* Drops all up to the last sum that the table has forgotten. */
void cgx_sum_log_forget(struct cgx_sum_log *log, const struct cgx_sums *sums);

/* How many sums ago it was that the sum AGO from the latest one came; a number in the table. */
static inline uint16_t cgx_sum_log_ago(const struct cgx_sum_log *log, size_t ago)
{
    return log->calls[log->length - 1 - ago].sum;
}

/* The period of the latest sums that is that of steps: WARMUP of them have gone by, and it is no
 * pass over layers. Where these sums are known to be those of steps, WARMUP is 0: then it is the
 * period that explains most of them. */
struct cgx_period cgx_period_find(struct cgx_sum_log *log, const struct cgx_sums *sums,
                                  unsigned warmup);

/* The period of LENGTH, if the latest sums have it, for at least WARMUP steps. */
struct cgx_period cgx_period_set(const struct cgx_sum_log *log, size_t length, unsigned warmup);

/* No layer of a model is as long, or has as many kinds of sums. */
bool cgx_period_is_rich(const struct cgx_period *period);

/* Short, but of buckets, or of sums that all differ and have been repeated for long: no layer. */
bool cgx_period_is_plain(const struct cgx_period *period);

#endif
