/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The bound of a compressed sum's error. In an encoding that has bounds each element has one; in
 * others all elements of a bucket have a joint bound. */
#ifndef CGX_OBSERVE_CHECK_BOUND_H
#define CGX_OBSERVE_CHECK_BOUND_H

#include "policy/plan.h"

/* An element beyond its bound. */
struct cgx_excess {
    double excess; /* error over bound; 0: none */
    double element, result, exact, bound;
};

/* Elements [first, first + count) of the buffer: whole units of the plan, or its end. */
struct cgx_check_block {
    size_t first;
    size_t count;
    size_t buckets; /* of the plan's bucket size */
    /* By element: the exact sum and the sum of magnitudes. By bucket: the sum of all scales, NaN if
     * one was poisoned. */
    double *exact, *magnitude, *scales;
    const uint8_t *history; /* scale codes by element; NULL: no history */
};

/* The findings of a comparison. */
struct cgx_compared {
    uint64_t beyond;     /* elements, or buckets with a joint bound */
    double error, exact; /* sums of squares of errors and of exact elements */
    double scaled;       /* of errors divided by history scales */
    struct cgx_excess worst;
};

/* Compares RESULT, the elements of BLOCK as floats, with the exact sums over RANKS ranks; adds to
 * *FOUND. */
void cgx_check_bound(const struct cgx_plan *plan, unsigned ranks,
                     const struct cgx_check_block *block, const float *result,
                     struct cgx_compared *found);

#endif
