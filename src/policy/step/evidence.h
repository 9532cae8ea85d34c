/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How steps are known (recurrence.h): what the user says of them, and what has shown them. */
#ifndef CGX_POLICY_STEP_EVIDENCE_H
#define CGX_POLICY_STEP_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

enum cgx_evidence {
    CGX_EVIDENCE_NONE,
    CGX_EVIDENCE_USER,    /* CGX_WARMUP=0 */
    CGX_EVIDENCE_PAUSES,  /* pauses between steps, the same on all ranks */
    CGX_EVIDENCE_RESULTS, /* results that resemble those of the step before, on all ranks */
    CGX_EVIDENCE_PERIOD,  /* a period that is no layer's */
};

/* The name of EVIDENCE for people: "nothing yet", "a period", ... */
const char *cgx_evidence_name(enum cgx_evidence evidence);

struct cgx_recurrence_rule {
    unsigned warmup; /* CGX_WARMUP: repeats of a period, at least 2; 0: every sum recurs at once */
    uint64_t minimal_size; /* elements; smaller sums never recur and only indicate structure */
    size_t step; /* set by the user, in large sums, up to CGX_STEP_LONGEST; 0: to be found */
};

#endif
