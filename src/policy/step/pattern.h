/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The sums of a step in order, and the program's position in it. The position is not always
 * certain: sums are left out, others come between, and layers are alike. So all positions that the
 * next sum may have are kept as candidates. No position is reported until a sum leaves only one. */
#ifndef CGX_POLICY_STEP_PATTERN_H
#define CGX_POLICY_STEP_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/sums.h"

/* Shares of elements over recent calls. */
struct cgx_share {
    uint64_t all, part;
    uint32_t calls;
};

/* All zeros: no step is followed. */
struct cgx_pattern {
    uint64_t generation; /* changes whenever positions change their meaning */
    uint64_t elements;
    uint32_t length;      /* 0: no pattern */
    uint32_t ncandidates; /* 0: position lost */
    uint32_t credit;      /* how many candidates searches of the position may still examine */
    uint32_t told;        /* the last reported position, or the length */
    bool firm;            /* no layer of a model looks like the pattern */
    bool tellable;        /* the pattern's positions have a meaning, so they may be reported */
    bool struck;          /* the last sum of the step was not expected */
    bool judged;          /* the pattern was followed for long enough to be judged */
    bool following;       /* it explains most elements now, so positions may be reported */
    bool proven;          /* it has explained them once */
    /* Shares of sums with a position, and of sums that belong to the step. */
    struct cgx_share placed, members;
    uint16_t sums[CGX_STEP_LONGEST]; /* the sums of the step, as indices in the table of sums */
    uint16_t candidates[CGX_STEP_LONGEST]; /* possible positions of the next sum */
};

struct cgx_occurrence {
    bool recurs;      /* the sum may be compressed, as far as the sequence shows */
    bool begins_step; /* the step of the previous positions is over; true once in each step with
                         positions, at the first of them */
    /* Position in the step, or CGX_POSITION_NONE if uncertain; valid for the generation after the
     * call. */
    size_t position;
};

/* Follows the latest PERIOD of LOG from now on, as a new generation. */
void cgx_pattern_adopt(struct cgx_pattern *pattern, struct cgx_sum_log *log,
                       const struct cgx_period *period);

void cgx_pattern_drop(struct cgx_pattern *pattern, struct cgx_sum_log *log);

/* Follows the next large sum, and sets the position of OCCURRENCE, which has none, if it may be
 * reported. There must be a pattern. Returns whether only one candidate explains the sum, be it
 * reported or not. */
bool cgx_pattern_follow(struct cgx_pattern *pattern, const struct cgx_sum_log *log, uint16_t sum,
                        struct cgx_occurrence *occurrence);

/* Whether a sum of another kind is off-step: the step is followed and makes most of all
 * elements. */
bool cgx_pattern_is_whole(const struct cgx_pattern *pattern);

/* Whether the pattern belongs to something that has ended, or to layers within PERIOD. */
bool cgx_pattern_gives_way(const struct cgx_pattern *pattern, const struct cgx_sum_log *log,
                           const struct cgx_period *period);

#endif
