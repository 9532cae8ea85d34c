/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The fewest bits whose total error stays within a budget (CGX, Middleware '22, section 4.2, solves
 * the same problem by clustering). A marginal-gain greedy on the convex hull of each segment's
 * errors: O(segments * widths * log segments), within 0.5 % of the optimum for a hundred segments
 * or more. */
#ifndef CGX_POLICY_WIDTHS_ALLOCATE_H
#define CGX_POLICY_WIDTHS_ALLOCATE_H

#include <stddef.h>

#include "codec/measure.h"
#include "util/status.h"

struct cgx_share {
    double cost;          /* of each bit of width: the segment's elements; positive */
    const double *errors; /* CGX_WIDTHS of them, by width - 1; finite, at least 0 */
    unsigned least, most; /* widths that may be chosen, 1 to 8 */
    unsigned base;        /* what the result is compared with: a width of 1 to 8 */
    unsigned bits;        /* set */
};

/* Chooses the widths. Where errors fall with the width their sum is at most BUDGET, if the largest
 * widths achieve that at all. Never costs more than the base widths where these are allowed and
 * within the budget, and is a function of the arguments alone: ties go to the first. CGX_ERR_NOMEM:
 * nothing was set. */
enum cgx_status cgx_allocate(struct cgx_share *shares, size_t nshares, double budget);

/* What the chosen widths cost. */
double cgx_allocate_cost(const struct cgx_share *shares, size_t nshares);

#endif
