/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=check: what a compressed call has made is compared with the exact sum, a double
 * precision sum of the ranks' inputs, and with the bound of its error:
 *
 *     |result - exact| <= c (1 + 2^-8) S + P 2^-24 (M + S) + half an ulp of the type
 *
 * S is the sum of the steps of all quantisations of the element's bucket, from their headers; c is
 * 1/2 for nearest and 1 for stochastic rounding; M is the sum of the magnitudes of the element on P
 * ranks. An element whose exact sum is not finite, or overflows its type, must not be finite. In a
 * bucket that was poisoned other elements may be anything; it must hold, or be near, such a sum.
 *
 * All communication is on the private communicator, by ranks that are all in the call. */
#ifndef CGX_OBSERVE_CHECK_H
#define CGX_OBSERVE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/coll.h"

/* What came of it: the same on all ranks. */
struct cgx_checked {
    bool done;       /* the call was compared */
    uint64_t beyond; /* elements that are not within their bound */
    bool differs;    /* ranks do not have the same bytes */
    /* Over the elements of buckets that were not poisoned, the squares of: */
    double error;  /* result - exact sum */
    double exact;  /* the exact sum */
    double scaled; /* result - exact sum, over what history divides the element by */
};

struct cgx_check;

/* Before COLL is run: remembers the input and has the steps collected. *CHECK is NULL where the
 * setting says no, or if any rank lacks memory or cannot read its input. Returns MPI's code. */
int cgx_check_begin(struct cgx_coll *coll, struct cgx_check **check);

/* After COLL has been run with OUTCOME: compares, and frees CHECK; NULL is allowed. Rank 0 of the
 * communicator logs what must not be. Returns MPI's code. */
int cgx_check_end(struct cgx_check *check, enum cgx_outcome outcome, struct cgx_checked *checked);

#endif
