/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A rank's measurements of a segment of an adaptive plan: sums over a sample of buckets in one or
 * more calls, each with its weight. The weight is the sum of n r^2 over the same buckets, of n
 * elements and a range r given by their headers and cgx_encoding_range. The weight of all buckets
 * is known, so a sum is extrapolated as sum / weight * weight of all. Thus buckets that the sample
 * misses, and calls with large values, count in proportion. Sums of payloads whose elements no rank
 * has count in the same way. */
#ifndef CGX_POLICY_WIDTHS_FINDING_H
#define CGX_POLICY_WIDTHS_FINDING_H

#include "codec/encoding.h"
#include "codec/measure.h"

struct cgx_finding {
    /* Squared errors of this rank's quantisations, as if max-min; by width - 1. */
    double errors[CGX_WIDTHS];
    double weights[CGX_FAMILIES]; /* of the measured buckets, by the headers of each family ... */
    double quantised;             /* ... and of all that this rank quantises, by its headers */
    double second_moment; /* of sampled buckets of the sums that this rank owns, as decoded */
    double sampled;       /* the weight of these buckets; 0: second moment unknown */
    double owned;         /* the weight of all that this rank owns */
};

#endif
