/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=check: compares the result of a compressed call with the exact sum, a double precision
 * sum of the ranks' inputs, by the bound of its error:
 *
 *     |result - exact| <= c (1 + 2^-8) S + P 2^-24 (M + S) + half an ulp of the type
 *
 * S is the sum of the steps of all quantisations of the element's bucket, from their headers; c is
 * 1/2 for nearest and 1 for stochastic rounding; M is the sum of the magnitudes of the element on P
 * ranks. An element whose exact sum is not finite, or overflows its type, must not be finite. Other
 * elements of a poisoned bucket may be anything, but the bucket must have such a sum or be near
 * one.
 *
 * Ranks agree on the caller's communicator whether they compare; then they use the private one. */
#ifndef CGX_OBSERVE_CHECK_H
#define CGX_OBSERVE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/coll.h"

/* The findings of all ranks. */
struct cgx_checked {
    bool done;       /* the call was compared */
    uint64_t beyond; /* elements beyond their bound */
    bool differs;    /* ranks have different results */
    /* Sums of squares over elements of buckets that were not poisoned: */
    double error;  /* of result - exact sum */
    double exact;  /* of the exact sum */
    double scaled; /* of result - exact sum, divided by the element's history scale */
};

struct cgx_check;

/* Before COLL runs: saves the input and makes COLL collect the steps. *CHECK is NULL if the setting
 * says no, or if a rank lacks memory or cannot read its input. Returns MPI's code. */
int cgx_check_begin(struct cgx_coll *coll, struct cgx_check **check);

/* After COLL has run with OUTCOME: compares, and frees CHECK, which may be NULL. Rank 0 of the
 * communicator logs violations. Returns MPI's code. */
int cgx_check_end(struct cgx_check *check, enum cgx_outcome outcome, struct cgx_checked *checked);

#endif
