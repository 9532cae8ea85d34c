/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The bound of a compressed sum: how far it may be from the exact one. Elements of an encoding that
 * has bounds have one each; those of a bucket of another have one together. */
#ifndef CGX_OBSERVE_CHECK_BOUND_H
#define CGX_OBSERVE_CHECK_BOUND_H

#include "policy/plan.h"

/* An element that is not within its bound. */
struct cgx_excess {
    double excess; /* error over bound; 0: there is none */
    double element, result, exact, bound;
};

/* Elements [first, first + count) of the buffer: whole units of the plan, or its end. */
struct cgx_check_block {
    size_t first;
    size_t count;
    size_t buckets; /* of the size that is set */
    /* By element the exact sum and that of magnitudes; by bucket the sum of all scales, NaN where
     * one was poisoned. */
    double *exact, *magnitude, *scales;
    const uint8_t *history; /* by element; NULL: there is none */
};

/* What comparing has found. */
struct cgx_compared {
    uint64_t beyond;     /* elements, or buckets that have one bound */
    double error, exact; /* the squares of errors and of exact elements */
    double scaled;       /* of errors over what history divides elements by */
    struct cgx_excess worst;
};

/* Compares RESULT, the elements of BLOCK widened, with the exact sums over RANKS; adds to *FOUND.
 */
void cgx_check_bound(const struct cgx_plan *plan, unsigned ranks,
                     const struct cgx_check_block *block, const float *result,
                     struct cgx_compared *found);

#endif
