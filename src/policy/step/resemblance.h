/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds a training step by the results of its sums: a gradient resembles that of the step before,
 * and other layers of the same shape do not resemble it. Two results resemble each other if the
 * signs of their elements correlate. MPI does not promise that results are the same on all ranks,
 * so a step counts only if all ranks have found it (comm/tables.h). */
#ifndef CGX_POLICY_STEP_RESEMBLANCE_H
#define CGX_POLICY_STEP_RESEMBLANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/step/periods.h"

/* The elements of a result that are sampled, at most. */
#define CGX_RESEMBLANCE_SAMPLE 1024

/* The longest step that is found, in large sums; longer ones are no layers (periods.h). */
#define CGX_RESEMBLANCE_LONGEST 32

/* The signs of sampled elements, a bit for each; zeros and NaNs have no bit in either word. */
struct cgx_signs {
    uint64_t positive[CGX_RESEMBLANCE_SAMPLE / 64], negative[CGX_RESEMBLANCE_SAMPLE / 64];
};

#define CGX_RESEMBLANCE_RECENT (2 * CGX_RESEMBLANCE_LONGEST + 2)

/* All zeros: no result yet. */
struct cgx_resemblance {
    uint32_t sums; /* number of sums so far, with a result or without */
    struct cgx_signs recent[CGX_RESEMBLANCE_RECENT]; /* the latest sums, by number in turn */
};

/* Adds a sum, without a result. */
void cgx_resemblance_add(struct cgx_resemblance *resemblance);

/* Sets the result of the latest sum: the COUNT VALUES that were sampled. */
void cgx_resemblance_take(struct cgx_resemblance *resemblance, const float *values, size_t count);

/* The shortest period of LOG, in large sums, with which results resemble each other; 0: none. A
 * period of results, at least four, are compared with those a period before, or twice as many if
 * they are known. Two thirds, and at least three, must resemble each other; pairs with few elements
 * that are non-zero in both do not count, if they are no more than half. The latest sums of LOG are
 * those of RESEMBLANCE; the last of them has no result yet. */
uint32_t cgx_resemblance_judge(const struct cgx_resemblance *resemblance,
                               const struct cgx_sum_log *log);

#endif
