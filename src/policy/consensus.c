/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/consensus.h"

#include <math.h>
#include <string.h>

#include "codec/squares.h"

enum { WORD_KNOWN, WORD_DISTANCE, WORD_ONE_SIGN, WORD_DISJOINT };

void cgx_closeness_add(struct cgx_closeness *closeness, const float *input, const float *sum,
                       size_t count, unsigned ranks)
{
    const double share = 1.0 / ranks;
    double magnitudes, squares = cgx_squares_sum(sum, count, &magnitudes);
    double apart = cgx_squares_apart(input, sum, share, count);
    unsigned positive = 0, negative = 0, shared = 0;
    size_t nonzero = 0;

    for (size_t i = 0; i < count; i++) {
        positive |= sum[i] > 0;
        negative |= sum[i] < 0;
        shared |= (unsigned)(input[i] != 0) & (unsigned)(input[i] != sum[i]);
        nonzero += sum[i] != 0;
    }
    closeness->positive |= positive;
    closeness->negative |= negative;
    closeness->shared |= shared;
    closeness->count += count;
    closeness->nonzero += nonzero;
    closeness->apart += apart;
    closeness->mean += share * share * squares;
    closeness->not_finite |= !isfinite(apart) || !isfinite(squares);
}

void cgx_opinion(const struct cgx_closeness *closeness, uint32_t words[CGX_OPINION_WORDS])
{
    bool nothing = closeness->apart == 0 && closeness->mean == 0;
    bool known = !nothing && !closeness->not_finite;
    /* Opposite inputs may cancel to nothing: then no rank is anywhere near the mean. */
    float distance = known ? (float)(closeness->apart / closeness->mean) : 0;

    words[WORD_KNOWN] = known;
    /* Positive floats are ordered as their bits are: the greatest has the least complement. */
    memcpy(&words[WORD_DISTANCE], &distance, sizeof distance);
    words[WORD_DISTANCE] = ~words[WORD_DISTANCE];
    words[WORD_ONE_SIGN] = closeness->positive != closeness->negative;
    words[WORD_DISJOINT] = !closeness->shared && 4 * closeness->nonzero >= closeness->count;
}

double cgx_consensus_threshold(double setting, unsigned ranks)
{
    double rise = 0.4 * (ranks - 1);

    return (rise < 1 ? rise : 1) * setting;
}

struct cgx_verdict cgx_consensus_judge(const uint32_t words[CGX_OPINION_WORDS], double threshold)
{
    struct cgx_verdict verdict = {CGX_CONSENSUS_NONE, 0};
    uint32_t bits = ~words[WORD_DISTANCE];
    float distance;

    memcpy(&distance, &bits, sizeof distance);
    verdict.distance = (double)distance;
    if (!words[WORD_KNOWN])
        verdict.consensus = CGX_CONSENSUS_UNKNOWN;
    else if (words[WORD_DISJOINT])
        verdict.consensus = CGX_CONSENSUS_DISJOINT;
    else if (words[WORD_ONE_SIGN])
        verdict.consensus = CGX_CONSENSUS_ONE_SIGN;
    else if (verdict.distance < threshold)
        verdict.consensus = CGX_CONSENSUS_CLOSE;
    return verdict;
}
