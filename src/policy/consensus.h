/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Judges by its data whether a sum is of gradients. Data that recurs need not be a gradient, and
 * averaged weights do not survive four bits. With x_r the input of rank r of P and s the sum,
 *
 *     d_r = |x_r - s/P|^2 / |s/P|^2
 *
 * is the distance of the rank from the mean. A sum must stay exact if one of these holds:
 *
 *   close     the rank nearest to the mean has d_r < min(0.4 (P - 1), 1) * CGX_CONSENSUS, in total
 *             and in at least half of the buckets: weights. One straggler among agreeing ranks does
 *             not hide them. (In a gradient a few large rows may be alike on all ranks: rows of the
 *             most frequent words, or of the few units that are still active.)
 *   still     the sum has hardly changed since an earlier one (recent.h): forces, averages,
 *             second-order factors.
 *   one sign  no element of the sum is negative, or none is positive: variances, counts.
 *   disjoint  no element is non-zero on two ranks, several ranks contribute, and at least a quarter
 *             of the sum's elements are not zero: gathered data. (With a large table, ranks may
 *             just have touched different rows; and an expert's gradient may come from one rank
 *             alone, but it changes.)
 *
 * bench/results/state.md has measurements of gradients and state. The test is no proof: a solver's
 * vectors, or activations, look like gradients.
 *
 * Pure arithmetic on samples. In an exact call each rank turns its sample into a vote, a few words
 * whose minimum over the ranks gives all the same verdict. In a compressed call the owners of sums
 * judge (coll/trailer/watch.h). */
#ifndef CGX_POLICY_CONSENSUS_H
#define CGX_POLICY_CONSENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The change (recent.h) below which a sum is still. */
#define CGX_CONSENSUS_CHANGE 0.15

/* The change from which a few samples suffice to show that a sum is not still. */
#define CGX_CONSENSUS_CHANGE_FAR 0.5

/* If a rank is farther than the threshold in more than half of the buckets, its distance counts as
 * at least this many thresholds. */
#define CGX_CONSENSUS_FAR 2

/* What a rank has observed of one sum. All zero: nothing. */
struct cgx_closeness {
    double threshold; /* set by the caller: the limit of close */
    double deviation; /* |x_r - s/P|^2 */
    double mean;      /* |s/P|^2 */
    bool positive;    /* the sum has a positive element */
    bool negative;    /* the sum has a negative element */
    bool brought;     /* an element is non-zero here ... */
    bool shared;      /* ... and on another rank too */
    size_t count;     /* elements ... */
    size_t nonzero;   /* ... and those not zero in the sum */
    size_t filled;    /* samples with a sum that is not zero ... */
    size_t far;       /* ... and those where this rank is at least the threshold away */
    bool not_finite;  /* an element of input or sum is not finite */
};

/* Adds COUNT elements of this rank's input and of the sum of RANKS ranks. */
void cgx_closeness_add(struct cgx_closeness *closeness, const float *input, const float *sum,
                       size_t count, unsigned ranks);

/* The vote of RANK, with the CHANGE of the sum (infinite: unknown). The minimum of each word over
 * all ranks is the joint vote. All zero: a rank has no vote, or none is needed. */
#define CGX_CONSENSUS_WORDS 7
void cgx_consensus_vote(const struct cgx_closeness *closeness, double change, unsigned rank,
                        uint32_t words[CGX_CONSENSUS_WORDS]);

enum cgx_consensus {
    CGX_CONSENSUS_UNKNOWN, /* only zeros, or something not finite */
    CGX_CONSENSUS_NONE,    /* it may be compressed */
    CGX_CONSENSUS_CLOSE,
    CGX_CONSENSUS_STILL,
    CGX_CONSENSUS_ONE_SIGN,
    CGX_CONSENSUS_DISJOINT,
};

struct cgx_verdict {
    enum cgx_consensus consensus;
    double distance; /* d_r of the rank nearest to the mean; NaN: unknown */
    double change;   /* of the sum; infinite: unknown */
};

/* Whether the sum must stay exact. */
static inline bool cgx_verdict_forbids(const struct cgx_verdict *verdict)
{
    return verdict->consensus > CGX_CONSENSUS_NONE;
}

/* Properties of a sum; the first that holds decides. */
struct cgx_findings {
    bool disjoint, one_sign;
    double distance, change;
};

/* The threshold for d_r on RANKS ranks, SETTING being CGX_CONSENSUS. */
double cgx_consensus_threshold(double setting, unsigned ranks);

/* The verdict on a sum with these findings. */
struct cgx_verdict cgx_consensus_of(const struct cgx_findings *findings, double threshold);

/* The verdict that follows from the joint vote. */
struct cgx_verdict cgx_consensus_judge(const uint32_t words[CGX_CONSENSUS_WORDS], double threshold);

#endif
