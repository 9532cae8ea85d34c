/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a rank finds in a segment of an adaptive plan by looking at some of its buckets, in one call
 * or several. All are sums over buckets, and with each goes its weight: the sum of n r^2 over the
 * same buckets, of n elements and a range r by their headers and cgx_encoding_range. The weight of
 * all buckets is known; what stands for all of them is sum / weight * weight of all, so that a
 * bucket which the sample misses does not go unseen, and a call with large values counts as such.
 * So does what cannot be looked at: sums of payloads whose elements nobody has. */
#ifndef CGX_POLICY_WIDTHS_FINDING_H
#define CGX_POLICY_WIDTHS_FINDING_H

#include "codec/encoding.h"
#include "codec/measure.h"

struct cgx_finding {
    /* Squared, of this rank's quantisations, if they are max-min ones; by width - 1. */
    double errors[CGX_WIDTHS];
    double weights[CGX_FAMILIES]; /* of these, as the headers of each family would say ... */
    double quantised;             /* ... and of all that this rank quantises, as its headers do */
    double second_moment; /* squared, of the sums that this rank owns, as they come out of payloads;
                             ... */
    double sampled; /* ... the weight of these buckets, 0: the second moment is not known; ... */
    double owned;   /* ... and the weight of all that it owns */
};

#endif
