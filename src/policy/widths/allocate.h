/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds the fewest bits whose total error is within a budget (CGX, Middleware '22, section 4.2,
 * solves the same problem by clustering). A greedy by marginal gain on the convex hull of each
 * segment's errors: O(segments * widths * log segments), within 0.5 % of the optimum for a hundred
 * segments or more. */
#ifndef CGX_POLICY_WIDTHS_ALLOCATE_H
#define CGX_POLICY_WIDTHS_ALLOCATE_H

#include <stddef.h>

#include "codec/measure.h"
#include "util/status.h"

struct cgx_share {
    double cost;          /* per bit of width: the segment's elements; positive */
    const double *errors; /* CGX_WIDTHS errors, by width - 1; finite, at least 0 */
    unsigned least, most; /* the allowed widths, 1 to 8 */
    unsigned base;        /* the width that the result is compared with, 1 to 8 */
    unsigned bits;        /* the result */
};

/* Sets the widths. If errors fall with the width, their sum is at most BUDGET, provided that the
 * largest widths achieve this. Never costs more than the base widths if these are allowed and
 * within the budget. Depends on the arguments only: ties go to the first. CGX_ERR_NOMEM: nothing
 * was set. */
enum cgx_status cgx_allocate(struct cgx_share *shares, size_t nshares, double budget);

/* The cost of the chosen widths. */
double cgx_allocate_cost(const struct cgx_share *shares, size_t nshares);

#endif
