/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a user is told without asking, at the level warn: that sums are compressed, and which ones
 * are not since they do not look like gradients. A process writes one line of a kind; at the end
 * comes a count of the others. Thread-safe. */
#ifndef CGX_OBSERVE_NOTICES_H
#define CGX_OBSERVE_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/reason.h"
#include "policy/consensus.h"

/* A sum, for a line about it; the most bytes of its communicator's name, and of what is said of
 * it. */
#define CGX_NOTICED_NAME_BYTES 128
#define CGX_NOTICED_BYTES 256
struct cgx_noticed {
    uint64_t count;   /* elements */
    int ranks;        /* of its communicator, ... */
    const char *name; /* ... whose name is this; empty: it has none */
    size_t position;  /* in the step; CGX_POSITION_NONE */
    bool observed;    /* it is exact in any case (CGX_ENABLE=observe) */
};

/* A sum is about to be sent as BYTES by each rank, or would be, for the first time in this process.
 */
void cgx_notice_compressed(const struct cgx_noticed *sum, size_t bytes);

/* Whether that has been said. */
bool cgx_notice_was_compressed(void);

/* The process's first large sums are all in memory that CGX_BUFFERS leaves out, for REASON. */
void cgx_notice_memory(enum cgx_reason reason);

/* Whether that has been said. */
bool cgx_notice_was_of_memory(enum cgx_reason reason);

/* A sum is exact, and so are the next CALLS of its call site, for VERDICT. At the level debug each
 * time. */
void cgx_notice_blocked(const struct cgx_noticed *sum, unsigned calls,
                        const struct cgx_verdict *verdict);

/* A sum that was being compressed is done again exactly, for VERDICT: that one alone. At the level
 * debug. */
void cgx_notice_redone(const struct cgx_noticed *sum, const struct cgx_verdict *verdict);

/* In MPI_Finalize: how many more were held than there were lines. */
void cgx_notice_count(void);

#endif
