/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a recurrence holds, for the files that implement it. */
#ifndef CGX_POLICY_STEP_RECURRENCE_STATE_H
#define CGX_POLICY_STEP_RECURRENCE_STATE_H

#include "policy/step/evidence.h"
#include "policy/step/pattern.h"
#include "policy/step/sums.h"

/* The most sums that are learnt from together. */
#define CGX_EXPECTED_TOGETHER 64

/* The next sums that the step expects. SUMS of them have come and were not learnt from; as long as
 * there are fewer than REST, the next one changes nothing but counts, and ranks compare nothing. */
struct cgx_expected {
    uint32_t sums, rest;
    uint32_t position; /* of the next one */
    /* Before each of those that have come but the first, and before the next one. */
    uint16_t pauses[CGX_EXPECTED_TOGETHER + 1];
};

/* What every call touches comes first and arrays come last, so that few pages are touched early. */
struct cgx_recurrence {
    struct cgx_recurrence_rule rule;
    enum cgx_evidence evidence;
    uint32_t since_search;
    uint64_t calls;
    uint64_t established;
    uint32_t paced;         /* the step's length as all ranks found it, in large sums; 0: unknown */
    enum cgx_evidence pace; /* how all ranks found it */
    /* The total of a step is known, but its sums differ from step to step. */
    bool has_variable_size;
    bool logged; /* the latest large sum is in the log */
    struct cgx_expected expected;
    struct cgx_resemblance resemblance; /* results of the latest sums in the log */
    struct cgx_sum_log log;
    struct cgx_pattern pattern;
};

/* Learns from the sums that have come as expected, in their order. */
void cgx_recurrence_learn(struct cgx_recurrence *recurrence);

#endif
