/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Lines that users get by default, at level warn: that sums are compressed, and which sums are not
 * since they do not look like gradients. A process writes one line of each kind and, at the end,
 * the number of further ones. Thread-safe. */
#ifndef CGX_OBSERVE_NOTICES_H
#define CGX_OBSERVE_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/reason.h"
#include "policy/look.h"
#include "policy/worth.h"

/* A sum that a line is about; the most bytes of its communicator's name, and of its description. */
#define CGX_NOTICED_NAME_BYTES 128
#define CGX_NOTICED_BYTES 256
struct cgx_noticed {
    uint64_t count;   /* elements */
    int ranks;        /* of its communicator */
    const char *name; /* of its communicator; empty: none */
    size_t position;  /* in the step, or CGX_POSITION_NONE */
    bool observed;    /* CGX_ENABLE=observe: it is exact in any case */
};

/* The first time in this process: says that each rank sends, or would send, SUM as BYTES. */
void cgx_notice_compressed(const struct cgx_noticed *sum, size_t bytes);

/* Whether this was said. */
bool cgx_notice_was_compressed(void);

/* Says that the process's first large sums are all in memory that CGX_BUFFERS excludes, for REASON.
 */
void cgx_notice_memory(enum cgx_reason reason);

/* Counts a communicator that had large sums and was freed before its step was known. Says after the
 * CGX_NOTICED_FREEDth, if the process has compressed nothing, that communicators live too short. */
#define CGX_NOTICED_FREED 16
void cgx_notice_freed(void);

/* Says, once, that SUM, which recurs, is formed by an op of the program's own, and which rule would
 * say what that sums. */
void cgx_notice_unknown_sum(const struct cgx_noticed *sum);

/* Whether a line has named REASON for large sums that stay exact. */
bool cgx_notice_said(enum cgx_reason reason);

/* Says, once and only if nothing has been compressed and no other reason was named, that large sums
 * repeat after LENGTH, TIMES times so far, which does not show whether they are of steps; and which
 * rule would. The first NCOUNTS of them, at most CGX_NOTICED_COUNTS, have COUNTS elements. */
#define CGX_NOTICED_COUNTS 8
void cgx_notice_undecided(size_t length, size_t times, const uint64_t *counts, size_t ncounts);

/* Says, at level info and once in the process, that LOOKS of the sums of a window were looked at,
 * of which SUM is the last. */
void cgx_notice_looking(const struct cgx_noticed *sum, unsigned looks);

/* Says that sums like SUM are formed in WAY from now on, by these medians, the compressed one that
 * of YOUNG sums (step_size.h) or not: at level warn the first time that they are exact since that
 * takes less time, then at level debug. */
void cgx_notice_way(const struct cgx_noticed *sum, enum cgx_way way, const double seconds[CGX_WAYS],
                    bool young);

/* Says that SUM and the next CALLS of its call site stay exact because of what looks at the last
 * ones have found: at level warn the first time for each look, then at level debug. */
void cgx_notice_blocked(const struct cgx_noticed *sum, unsigned calls, enum cgx_look look);

/* Says that a sum that was being compressed is done again exactly because of its data: at level
 * info the first time for each look. LOOK: what this rank has found of it, no state if others
 * have. */
void cgx_notice_held(const struct cgx_noticed *sum, enum cgx_look look);

/* How often one of these two has said LOOK. */
unsigned long long cgx_notice_found(enum cgx_look look);

/* In MPI_Finalize: says how many sums were blocked without a warning. */
void cgx_notice_count(void);

#endif
