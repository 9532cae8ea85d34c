/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether a sum is one of gradients, judged by its data: what recurs need not be a gradient, and
 * weights that are averaged do not survive four bits. With x_r what rank r of P puts in and s the
 * sum,
 *
 *     d_r = |x_r - s/P|^2 / |s/P|^2
 *
 * is how far the rank is from the mean. A sum must stay exact where one of these holds:
 *
 *   close     the rank that is nearest to the mean has d_r < min(0.4 (P - 1), 1) * CGX_CONSENSUS,
 *             in all and in at least half of the buckets: weights. One straggler among ranks that
 *             agree does not hide them. (Of a gradient, a few large rows may be alike on all
 *             ranks: those of the most frequent words, or of a few units that are left.)
 *   still     the sum has hardly changed since the last but one (recent.h): forces, averages,
 *             second-order factors.
 *   one sign  no element of the sum is negative, or none is positive: variances, counts.
 *   disjoint  no element is non-zero on two ranks, several ranks have brought some, and at least a
 *             quarter of the sum's elements are not zero: data that is gathered. (Of a large table
 *             ranks may just have touched other rows; what one rank alone has may be the gradient
 *             of an expert, which changes.)
 *
 * bench/results/state.md has what gradients and state were measured at. It is no proof: sums of a
 * solver's vectors, or activations, look like gradients.
 *
 * Pure arithmetic on samples. In an exact call each rank votes on its own sample, as
 * words of which ranks take the least, so that all come to the same verdict; in a compressed call
 * the owners of sums do (coll/trailer/watch.h). */
#ifndef CGX_POLICY_CONSENSUS_H
#define CGX_POLICY_CONSENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The change (recent.h) below which a sum is still. */
#define CGX_CONSENSUS_CHANGE 0.15

/* The change from which on a few samples are enough to tell that it is not. */
#define CGX_CONSENSUS_CHANGE_FAR 0.5

/* A rank is this many thresholds from the mean at the least where it is farther than one of them in
 * more than half of the buckets. */
#define CGX_CONSENSUS_FAR 2

/* What a rank has seen of one sum. All zero: nothing. */
struct cgx_closeness {
    double threshold; /* set by the caller: of close */
    double deviation; /* |x_r - s/P|^2 */
    double mean;      /* |s/P|^2 */
    bool positive;    /* some element of the sum is */
    bool negative;    /* some is */
    bool brought;     /* some element is non-zero here, ... */
    bool shared;      /* ... and on another rank too */
    size_t count;     /* elements ... */
    size_t nonzero;   /* ... and how many are not zero in the sum */
    size_t filled;    /* takings of which the sum is not zero, ... */
    size_t far;       /* ... and in how many this rank is no nearer than the threshold */
    bool not_finite;  /* some element of input or sum is not */
};

/* Takes COUNT elements of what this rank put in, and of the sum of RANKS ranks. */
void cgx_closeness_add(struct cgx_closeness *closeness, const float *input, const float *sum,
                       size_t count, unsigned ranks);

/* The vote of RANK, with the CHANGE of the sum (infinite: not known); the least of each word
 * over all ranks is that of all. All zero: a rank has none, or none is asked for. */
#define CGX_CONSENSUS_WORDS 7
void cgx_consensus_vote(const struct cgx_closeness *closeness, double change, unsigned rank,
                        uint32_t words[CGX_CONSENSUS_WORDS]);

enum cgx_consensus {
    CGX_CONSENSUS_UNKNOWN, /* there was nothing but zeros, or something that is not finite */
    CGX_CONSENSUS_NONE,    /* it may be compressed */
    CGX_CONSENSUS_CLOSE,
    CGX_CONSENSUS_STILL,
    CGX_CONSENSUS_ONE_SIGN,
    CGX_CONSENSUS_DISJOINT,
};

struct cgx_verdict {
    enum cgx_consensus consensus;
    double distance; /* d_r of the rank that is nearest to the mean; NaN: not known */
    double change;   /* of the sum; infinite: not known */
};

/* Whether the sum must stay exact. */
static inline bool cgx_verdict_forbids(const struct cgx_verdict *verdict)
{
    return verdict->consensus > CGX_CONSENSUS_NONE;
}

/* What holds for a sum; the first of these decides. */
struct cgx_findings {
    bool disjoint, one_sign;
    double distance, change;
};

/* The threshold for d_r on RANKS ranks, with SETTING as CGX_CONSENSUS. */
double cgx_consensus_threshold(double setting, unsigned ranks);

/* The verdict on a sum of which something is known, with THRESHOLD. */
struct cgx_verdict cgx_consensus_of(const struct cgx_findings *findings, double threshold);

/* What follows from the vote of all, with THRESHOLD. */
struct cgx_verdict cgx_consensus_judge(const uint32_t words[CGX_CONSENSUS_WORDS], double threshold);

#endif
