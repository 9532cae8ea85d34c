/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether a sum is one of gradients, judged by its data: what recurs need not be a gradient, and
 * weights that are averaged do not survive four bits. With x_r what rank r of P puts in and s the
 * sum,
 *
 *     d_r = |x_r - s/P|^2 / |s/P|^2
 *
 * is how far the rank is from the mean. Ranks reach a consensus, and the sum must stay exact, where
 * the rank that is farthest has d_r < min(0.4 (P - 1), 1) * CGX_CONSENSUS, where all elements of
 * the sum have one sign (variances, counts), or where no element is non-zero on two ranks though at
 * least a quarter of those of the sum are (a gather in disguise; of a large table ranks may just
 * have touched other rows). Gradients were never seen below 0.024 on 2 ranks and 0.13 on 8;
 * averaged weights are at 1e-3 or less. It is no proof: sums of a solver's vectors look like
 * gradients.
 *
 * Pure arithmetic on samples. Each rank forms an opinion of its own sample, as words of which ranks
 * take the least, so that all come to the same verdict. */
#ifndef CGX_POLICY_CONSENSUS_H
#define CGX_POLICY_CONSENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank has seen of one sum. All zero: nothing. */
struct cgx_closeness {
    double apart;    /* |x_r - s/P|^2 */
    double mean;     /* |s/P|^2 */
    bool positive;   /* some element of the sum is */
    bool negative;   /* some is */
    bool shared;     /* some element is non-zero here, and on another rank too */
    size_t count;    /* elements ... */
    size_t nonzero;  /* ... and how many are not zero in the sum */
    bool not_finite; /* some element of input or sum is not */
};

/* Takes COUNT elements of what this rank put in, and of the sum of RANKS ranks. */
void cgx_closeness_add(struct cgx_closeness *closeness, const float *input, const float *sum,
                       size_t count, unsigned ranks);

/* A rank's opinion; the least of each word over all ranks is that of all. All zero: a rank has
 * none, or none is asked for. */
#define CGX_OPINION_WORDS 4
void cgx_opinion(const struct cgx_closeness *closeness, uint32_t words[CGX_OPINION_WORDS]);

enum cgx_consensus {
    CGX_CONSENSUS_UNKNOWN,  /* there was nothing but zeros, or something that is not finite */
    CGX_CONSENSUS_CLOSE,    /* ranks contribute nearly the same */
    CGX_CONSENSUS_ONE_SIGN, /* no element of the sum is negative, or none is positive */
    CGX_CONSENSUS_DISJOINT, /* no element is non-zero on two ranks, and many are on one */
    CGX_CONSENSUS_NONE,     /* it may be compressed */
};

struct cgx_verdict {
    enum cgx_consensus consensus;
    double distance; /* d_r of the rank that is farthest from the mean */
};

/* The threshold for d_r on RANKS ranks, with SETTING as CGX_CONSENSUS. */
double cgx_consensus_threshold(double setting, unsigned ranks);

/* What follows from the opinion of all, with THRESHOLD. */
struct cgx_verdict cgx_consensus_judge(const uint32_t words[CGX_OPINION_WORDS], double threshold);

#endif
