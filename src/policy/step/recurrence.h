/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds which sums recur, and their positions in the program's step, from the sequence of float
 * sums on one communicator. All its ranks see that sequence, so all get the same answers. A sum may
 * recur without a known position.
 *
 * A communicator is established once its sequence shows training steps; from then on large sums
 * recur, except off-step sums of a step that is followed well. Four kinds of evidence establish it
 * (enum cgx_evidence). Pure logic. Memory is constant, allocated at creation and touched when
 * needed. Time per call is constant except for searches, whose cost is spread over the calls. */
#ifndef CGX_POLICY_STEP_RECURRENCE_H
#define CGX_POLICY_STEP_RECURRENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/evidence.h"
#include "policy/step/pattern.h"
#include "policy/step/sums.h"

/* Smaller sums are losses and flags, and are ignored. */
#define CGX_RECURRENCE_LEAST 16

/* What every call touches comes first and arrays come last, so that few pages are touched early. */
struct cgx_recurrence {
    unsigned warmup;            /* repeats of a period, at least 2 */
    uint64_t minimal_size;      /* elements; smaller sums never recur and only indicate structure */
    size_t step;                /* set by the user, in large sums; 0: to be found */
    enum cgx_evidence evidence; /* what established the communicator, ... */
    uint64_t established;       /* ... after so many large sums */
    uint32_t since_search;
    uint64_t calls;         /* number of large sums so far */
    uint32_t paced;         /* the step's length as all ranks found it, in large sums; 0: unknown */
    enum cgx_evidence pace; /* how all ranks found it */
    /* The total of a step is known, but its sums differ from step to step. */
    bool has_variable_size;
    bool logged; /* the latest large sum is in the log */
    struct cgx_sum_log log;
    struct cgx_resemblance resemblance; /* results of the latest sums in the log */
    struct cgx_pattern pattern;
};

/* Returns NULL if memory is short. WARMUP: CGX_WARMUP, with 0 every sum recurs at once. */
struct cgx_recurrence *cgx_recurrence_create(unsigned warmup, uint64_t minimal_size);
void cgx_recurrence_free(struct cgx_recurrence *recurrence);

/* Sets the STEP of the user, up to CGX_STEP_LONGEST; 0: none. If it differs from the previous one,
 * positions start anew; sums that recur keep doing so. */
void cgx_recurrence_set_step(struct cgx_recurrence *recurrence, size_t step);

/* Notes the time from the end of the last sum to the next one. Call it before cgx_recurrence_next.
 */
void cgx_recurrence_wait(struct cgx_recurrence *recurrence, int64_t nanoseconds);

/* Whether pauses are needed: nothing else has revealed the step. */
bool cgx_recurrence_needs_pauses(const struct cgx_recurrence *recurrence);

/* Whether the results of exact sums are looked at: as long as pauses are, but for no more than the
 * first CGX_RECURRENCE_RESULTS large sums. */
#define CGX_RECURRENCE_RESULTS 512
bool cgx_recurrence_samples(const struct cgx_recurrence *recurrence);

/* Notes the result of the latest large sum, if the sum is exact: the COUNT VALUES that were
 * sampled. */
void cgx_recurrence_result(struct cgx_recurrence *recurrence, const float *values, size_t count);

/* Whether ranks should compare their steps now, after a large sum: after the 4th, 6th, 8th, 12th,
 * 16th, 24th ... while the step is unknown. */
bool cgx_recurrence_should_compare(const struct cgx_recurrence *recurrence);

/* The step as this rank sees it: by results or, if these show none, by pauses. */
struct cgx_burst cgx_recurrence_burst(const struct cgx_recurrence *recurrence);

/* Answers for the next float sum, of COUNT elements. TYPE, below 16, distinguishes element types
 * and kinds of op. */
struct cgx_occurrence cgx_recurrence_next(struct cgx_recurrence *recurrence, uint64_t count,
                                          unsigned type);

/* Begins to use BURST, which all ranks have found. If the sums have repeated with its length, the
 * step is followed, with positions, until a longer one is known that is no epoch; if only its total
 * repeats, sums recur without positions. Returns whether sums recur from now on; *LATEST then
 * describes the latest sum. */
bool cgx_recurrence_take_burst(struct cgx_recurrence *recurrence, const struct cgx_burst *burst,
                               struct cgx_occurrence *latest);

/* The length with which the large sums have repeated from the beginning or nearly so, *TIMES times,
 * which is too seldom to tell steps from layers; 0: none. COUNTS: the elements of its first sums,
 * at most MOST. Call it when ranks have compared their steps. */
size_t cgx_recurrence_undecided(struct cgx_recurrence *recurrence, size_t *times, uint64_t *counts,
                                size_t most);

/* The length with which the large sums repeat, if the user has set another one that does not fit;
 * otherwise 0. Checked after the 32nd, 64th, 128th ... large sum. */
size_t cgx_recurrence_contradicts(struct cgx_recurrence *recurrence);

/* What the calls of a call site have in common. */
struct cgx_callsite_key {
    uint64_t count;    /* elements */
    uint32_t position; /* position in the step, or CGX_POSITION_NONE */
    uint32_t rule;     /* number of the rule of CGX_RULES that applies, from 1; 0: none */
    uint8_t type;      /* the type of cgx_recurrence_next */
};

/* Count and type of a sum in one word. */
#define CGX_CALLSITE_TYPE_BITS 4
static inline uint64_t cgx_callsite_word(uint64_t count, unsigned type)
{
    return count << CGX_CALLSITE_TYPE_BITS | type;
}

/* The key, without its rule, of the sum that is expected at POSITION of the step. */
struct cgx_callsite_key cgx_recurrence_expects(const struct cgx_recurrence *recurrence,
                                               size_t position);

#endif
