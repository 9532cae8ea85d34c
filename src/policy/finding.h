/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a rank finds in a segment of an adaptive plan by looking at some of its buckets, in one call
 * or several. All are sums over buckets, and with each goes its weight: the sum of n r^2 over the
 * same buckets, of n elements and a range r as their headers say, which is the root mean square of
 * the elements where they are rotated (cgx_encoding_range). The weight of all buckets is known;
 * what stands for all of them is sum / weight * weight of all, so that a bucket which the sample
 * misses does not go unseen, and a call with large values counts as such. So does what cannot be
 * looked at: sums of rotated payloads, whose elements nobody has. */
#ifndef CGX_POLICY_FINDING_H
#define CGX_POLICY_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/encoding.h"
#include "codec/measure.h"

/* Squares of elements, of P contributions x_r and their sum s, as they come out of messages. */
enum cgx_power {
    CGX_POWER_INPUTS, /* sum of |x_r|^2 */
    CGX_POWER_SUM,    /* |s|^2 */
    CGX_POWER_CHANGE, /* |s - s of the step before|^2 / 2 */
    CGX_POWERS
};

struct cgx_finding {
    /* Squared, of this rank's quantisations, if they are max-min ones; by width - 1. */
    double errors[CGX_WIDTHS];
    double weights[CGX_FAMILIES]; /* of these, as the headers of each family would say ... */
    double quantised;             /* ... and of all that this rank quantises, as its headers do */
    double powers[CGX_POWERS];    /* of what this rank owns */
    double seen[CGX_POWERS];      /* the weights of these; 0: not known */
    double owned;
};

/* Elements of the sums that the change is found from, kept from one step to the next. */
#define CGX_KEPT_ELEMENTS 16 /* of each sampled bucket at most */

/* Of how many elements of a buffer one is kept at most. */
#define CGX_KEPT_PART 256

struct cgx_kept {
    float *elements;
    size_t room, at;
    struct cgx_sampling sampling; /* of the sums that powers are found in */
    bool compares;                /* the elements are of the same buckets in the step before */
};

#endif
