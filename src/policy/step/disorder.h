/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The disorder of a sequence of sums, measured by a predictor: it expects that what followed the
 * last two different sums, with their numbers of repeats, follows again. One pass over a model's
 * weights hardly has disorder, however often its layers repeat. So a long sequence that has
 * disorder, but no period of a step, is training. */
#ifndef CGX_POLICY_STEP_DISORDER_H
#define CGX_POLICY_STEP_DISORDER_H

#include <stdbool.h>
#include <stdint.h>

#define CGX_DISORDER_CONTEXTS 4096

/* All zeros: no sum yet. */
struct cgx_disorder {
    uint64_t last, before; /* keys of the last sum and of the last different one before it */
    uint32_t repeated_last, repeated_before;
    uint32_t mistakes; /* wrong or missing predictions */
    uint32_t off_step; /* new sums right before a correctly predicted one */
    bool novel;        /* a new sum has come since the last known one */
    struct {
        uint16_t check; /* further bits of the context's hash */
        uint16_t next;  /* a hash of the sum that followed; 0: none yet */
    } seen[CGX_DISORDER_CONTEXTS];
};

/* Takes the next large sum. KNOWN: it has come often enough to be predicted. */
void cgx_disorder_take(struct cgx_disorder *disorder, uint64_t key, bool known);

#endif
