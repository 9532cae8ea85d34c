/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The sums of a step in their order, and where in it the program is. That is not always known: sums
 * are left out, others come between, and layers are alike. So all positions are kept that the next
 * sum may have. The first sum that only one of them explains says which; until then no position is
 * told. */
#ifndef CGX_POLICY_STEP_PATTERN_H
#define CGX_POLICY_STEP_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/periods.h"
#include "policy/step/sums.h"

/* Parts of all elements, over the calls of late. */
struct cgx_window {
    uint64_t all, part;
    uint32_t calls;
};

/* All zeros: no step is followed. */
struct cgx_pattern {
    uint64_t generation; /* how many patterns there have been */
    uint64_t elements;
    uint32_t length;      /* 0: there is none */
    uint32_t ncandidates; /* 0: it is lost */
    uint32_t credit;      /* for looking where it is */
    uint32_t told;        /* the position told last, or the length */
    bool firm;            /* no layer can look like it */
    bool tellable;        /* its positions mean something */
    bool strict;          /* sums vary: it may be of layers that were fused alike */
    bool struck;          /* the last sum of the step was not one that was expected */
    bool judged;          /* it has been followed for long enough to be judged */
    bool following;       /* its positions may be told: it explains most elements now, */
    bool proven;          /* or has done so once */
    /* Sums that had a position, and that are of the step at all. */
    struct cgx_window placed, members;
    uint16_t sums[CGX_STEP_LONGEST];       /* numbers in the table */
    uint16_t candidates[CGX_STEP_LONGEST]; /* positions that the next sum may have */
};

/* How the length of a step is known. */
enum cgx_step_source { CGX_STEP_FOUND, CGX_STEP_PACED /* by pauses */, CGX_STEP_SET };

struct cgx_step_place {
    bool known;       /* one candidate explains the sum, whether it may be told or not */
    bool begins_step; /* as struct cgx_occurrence has it */
    size_t position;
};

/* Follows the latest PERIOD of LOG from now on, as another generation. STRICT: as in the
 * struct. */
void cgx_pattern_adopt(struct cgx_pattern *pattern, struct cgx_sums *sums,
                       const struct cgx_sum_log *log, const struct cgx_period *period,
                       enum cgx_step_source source, bool strict);

/* Follows nothing any more. */
void cgx_pattern_drop(struct cgx_pattern *pattern, struct cgx_sums *sums);

/* Takes the next large sum. There must be a pattern. */
struct cgx_step_place cgx_pattern_follow(struct cgx_pattern *pattern, const struct cgx_sums *sums,
                                         uint16_t sum);

/* True if a sum of another kind is a stray: the step is followed, and makes most of all elements.
 */
bool cgx_pattern_is_whole(const struct cgx_pattern *pattern);

/* True if the pattern is that of something that is over, or of layers that PERIOD has in it. */
bool cgx_pattern_gives_way(const struct cgx_pattern *pattern, const struct cgx_sums *sums,
                           const struct cgx_sum_log *log, const struct cgx_period *period);

#endif
