/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Disorder in a sequence of sums, as seen by a predictor: what came after the last two sums, and
 * how often each was repeated, comes again. One pass over a model's weights hardly has any, however
 * often its layers repeat: what goes on for long and has none of a step's period, but disorder, is
 * training. */
#ifndef CGX_POLICY_STEP_DISORDER_H
#define CGX_POLICY_STEP_DISORDER_H

#include <stdbool.h>
#include <stdint.h>

#define CGX_DISORDER_CONTEXTS 4096

/* All zeros: nothing has come yet. */
struct cgx_disorder {
    uint64_t last, before; /* keys of the last sum and of the last other one before it */
    uint32_t repeated_last, repeated_before;
    uint32_t mistakes; /* predictions that were wrong or missing */
    uint32_t strays;   /* new sums right before one that was predicted */
    bool novel;        /* a new sum has come since the last known one */
    struct {
        uint16_t check; /* of the context, beside its place */
        uint16_t next;  /* a hash of the sum that came; 0: none yet */
    } seen[CGX_DISORDER_CONTEXTS];
};

/* Takes the next large sum. KNOWN: it has come twice before. */
void cgx_disorder_observe(struct cgx_disorder *disorder, uint64_t key, bool known);

#endif
