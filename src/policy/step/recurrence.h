/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which sums recur, and where in the program's step they are: told from the sequence of float sums
 * on one communicator, which all its ranks share, so that all come to the same answers. Two
 * questions with two answers: a sum may recur without a position.
 *
 * A communicator is established once its sequence shows that it carries training steps; from then
 * on large sums recur, but for strays of a step that is followed well. Five kinds of evidence
 * establish it (enum cgx_evidence). Pure logic: constant memory, had at creation and touched as it
 * is needed; constant time per call but for searches, whose cost is spread over the calls. */
#ifndef CGX_POLICY_STEP_RECURRENCE_H
#define CGX_POLICY_STEP_RECURRENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/bursts.h"
#include "policy/step/sums.h"

/* Sums of fewer elements are losses and flags, and say nothing. */
#define CGX_RECURRENCE_LEAST 16

/* What has established a communicator. */
enum cgx_evidence {
    CGX_EVIDENCE_NONE,     /* nothing yet */
    CGX_EVIDENCE_USER,     /* CGX_WARMUP=0 */
    CGX_EVIDENCE_PAUSES,   /* pauses between steps, the same on all ranks */
    CGX_EVIDENCE_PERIOD,   /* a period that closes, or one that has repeated for long */
    CGX_EVIDENCE_OFF_STEP, /* new sums within a sequence that is predicted well */
    CGX_EVIDENCE_VARYING,  /* disorder, as where a library fuses tensors by time */
};

struct cgx_recurrence;

struct cgx_recurrence_rule {
    unsigned warmup; /* CGX_WARMUP: repeats of a period, at least 2; 0: every sum recurs at once */
    uint64_t minimal_size; /* elements; smaller sums never recur and are hints of structure only */
    size_t step; /* in large sums, up to CGX_STEP_LONGEST, as the user says; 0: to be found */
};

/* NULL if memory is short. */
struct cgx_recurrence *cgx_recurrence_create(const struct cgx_recurrence_rule *rule);
void cgx_recurrence_free(struct cgx_recurrence *recurrence);

/* The user has said how many large sums a step has, as in the rule; 0: takes that back. If that is
 * not what was said before, positions start anew, while sums that recur go on to do so. */
void cgx_recurrence_set_step(struct cgx_recurrence *recurrence, size_t step);

/* The next sum comes so long after the one before it had been done; before cgx_recurrence_next. */
void cgx_recurrence_wait(struct cgx_recurrence *recurrence, int64_t nanoseconds);

/* Whether pauses are worth telling: nothing else has told the step. */
bool cgx_recurrence_listens(const struct cgx_recurrence *recurrence);

/* Whether ranks are to compare, now that a large sum has been taken, what their pauses say: after
 * the 4th, 6th, 8th, 12th, 16th, 24th ... while the step is not known. */
bool cgx_recurrence_asks(const struct cgx_recurrence *recurrence);

/* The step as this rank's pauses tell it. */
struct cgx_burst cgx_recurrence_burst(const struct cgx_recurrence *recurrence);

struct cgx_occurrence {
    bool recurs;      /* the sum may be compressed, as far as the sequence tells */
    bool begins_step; /* the step that the last positions were in is over; once in each step that
                       * has positions, with the first of them */
    size_t position; /* in the step, or CGX_POSITION_NONE where it is not certain; of the generation
                      * that there is after the call */
};

/* Takes the next float sum, of COUNT elements of a TYPE below 16 that tells element types and kinds
 * of op apart. */
struct cgx_occurrence cgx_recurrence_next(struct cgx_recurrence *recurrence, uint64_t count,
                                          unsigned type);

/* All ranks' pauses tell a step of LENGTH large sums: where these have repeated themselves it is
 * followed, with positions, until a longer one is known. True, and *LATEST is what the latest sum
 * is then, if it is followed from now on. */
bool cgx_recurrence_take_burst(struct cgx_recurrence *recurrence, size_t length,
                               struct cgx_occurrence *latest);

/* The length that the large sums repeat themselves with, where the user has set another one that
 * they do not have; else 0. Looked for after the 32nd, 64th, 128th ... large sum. */
size_t cgx_recurrence_contradicts(struct cgx_recurrence *recurrence);

/* What calls of one call site have in common. */
struct cgx_callsite_key {
    uint64_t count;    /* elements */
    uint32_t position; /* in the step, or CGX_POSITION_NONE */
    uint32_t rule;     /* of CGX_RULES that they follow, from 1; 0: none */
    uint8_t type;      /* as in cgx_recurrence_next */
};

/* Count and type of a sum in one word. */
#define CGX_CALLSITE_TYPE_BITS 4
static inline uint64_t cgx_callsite_word(uint64_t count, unsigned type)
{
    return count << CGX_CALLSITE_TYPE_BITS | type;
}

/* Positions of the step that is followed now, 0: none. They get another meaning when the generation
 * changes. */
size_t cgx_recurrence_period(const struct cgx_recurrence *recurrence);
uint64_t cgx_recurrence_generation(const struct cgx_recurrence *recurrence);

/* The key of the sum at POSITION, below the period; its rule is not known here. */
struct cgx_callsite_key cgx_recurrence_expects(const struct cgx_recurrence *recurrence,
                                               size_t position);

/* What established the communicator, and after how many large sums (*SUMS, which may be NULL). */
enum cgx_evidence cgx_recurrence_evidence(const struct cgx_recurrence *recurrence, uint64_t *sums);

/* "nothing yet", "a period", ...: for people. */
const char *cgx_evidence_name(enum cgx_evidence evidence);

#endif
