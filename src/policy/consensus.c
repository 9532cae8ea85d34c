/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/consensus.h"

#include <math.h>

#include "codec/quant.h"
#include "codec/squares.h"

/* FIRST is the first rank whose input is not all zero, LAST the last such rank as NO_RANK minus its
 * number. All words are below 2^31, since MPI_MIN of MPICH 4.0 compares MPI_UINT32_T as signed. */
#define NO_RANK UINT32_C(0x7FFFFFFF)
enum {
    WORD_KNOWN,
    WORD_DISTANCE,
    WORD_CHANGE,
    WORD_ONE_SIGN,
    WORD_DISJOINT,
    WORD_FIRST,
    WORD_LAST,
    WORDS
};
_Static_assert(WORDS == CGX_CONSENSUS_WORDS, "the vote");

void cgx_closeness_add(struct cgx_closeness *closeness, const float *input, const float *sum,
                       size_t count, unsigned ranks)
{
    const double share = 1.0 / ranks;
    double magnitudes, squares = cgx_squares_sum(sum, count, &magnitudes);
    double deviation = cgx_squares_difference(input, sum, share, count);
    double mean = share * share * squares;
    unsigned positive = 0, negative = 0, brought = 0, shared = 0;
    size_t nonzero = 0;

    for (size_t i = 0; i < count; i++) {
        positive |= sum[i] > 0;
        negative |= sum[i] < 0;
        brought |= input[i] != 0;
        shared |= (unsigned)(input[i] != 0) & (unsigned)(input[i] != sum[i]);
        nonzero += sum[i] != 0;
    }
    closeness->positive |= positive;
    closeness->negative |= negative;
    closeness->brought |= brought;
    closeness->shared |= shared;
    closeness->count += count;
    closeness->nonzero += nonzero;
    closeness->deviation += deviation;
    closeness->mean += mean;
    closeness->filled += mean > 0;
    closeness->far += mean > 0 && deviation >= closeness->threshold * mean;
    closeness->not_finite |= !isfinite(deviation) || !isfinite(squares);
}

/* Floats that are not negative have the order of their bits. */
static uint32_t word_of(double value)
{
    return cgx_float_bits((float)value);
}

static double value_of(uint32_t word)
{
    return (double)cgx_bits_float(word);
}

/* The d_r of this rank, but at least CGX_CONSENSUS_FAR thresholds if it is far in most buckets. */
static double distance_of(const struct cgx_closeness *closeness)
{
    double distance = closeness->deviation / closeness->mean;
    double far =
        2 * closeness->far > closeness->filled ? CGX_CONSENSUS_FAR * closeness->threshold : 0;

    return distance > far ? distance : far;
}

void cgx_consensus_vote(const struct cgx_closeness *closeness, double change, unsigned rank,
                        uint32_t words[CGX_CONSENSUS_WORDS])
{
    bool nothing = closeness->deviation == 0 && closeness->mean == 0;
    bool known = !nothing && !closeness->not_finite;

    /* Opposite inputs may cancel to a sum of zero: then no rank is near the mean. */
    words[WORD_KNOWN] = known;
    words[WORD_DISTANCE] = word_of(known ? distance_of(closeness) : 0);
    words[WORD_CHANGE] = word_of(change);
    words[WORD_ONE_SIGN] = closeness->positive != closeness->negative;
    words[WORD_DISJOINT] = !closeness->shared && 4 * closeness->nonzero >= closeness->count;
    words[WORD_FIRST] = closeness->brought ? rank : NO_RANK;
    words[WORD_LAST] = NO_RANK - (closeness->brought ? rank : 0);
}

double cgx_consensus_threshold(double setting, unsigned ranks)
{
    double rise = 0.4 * (ranks - 1);

    return (rise < 1 ? rise : 1) * setting;
}

struct cgx_verdict cgx_consensus_of(const struct cgx_findings *findings, double threshold)
{
    struct cgx_verdict verdict = {CGX_CONSENSUS_NONE, findings->distance, findings->change};

    if (findings->disjoint)
        verdict.consensus = CGX_CONSENSUS_DISJOINT;
    else if (findings->one_sign)
        verdict.consensus = CGX_CONSENSUS_ONE_SIGN;
    else if (findings->distance < threshold)
        verdict.consensus = CGX_CONSENSUS_CLOSE;
    else if (findings->change < CGX_CONSENSUS_CHANGE)
        verdict.consensus = CGX_CONSENSUS_STILL;
    return verdict;
}

struct cgx_verdict cgx_consensus_judge(const uint32_t words[CGX_CONSENSUS_WORDS], double threshold)
{
    const struct cgx_findings findings = {
        .disjoint = words[WORD_DISJOINT] && words[WORD_FIRST] != NO_RANK - words[WORD_LAST],
        .one_sign = words[WORD_ONE_SIGN],
        .distance = value_of(words[WORD_DISTANCE]),
        .change = value_of(words[WORD_CHANGE])};

    if (!words[WORD_KNOWN])
        return (struct cgx_verdict){CGX_CONSENSUS_UNKNOWN, NAN, INFINITY};
    return cgx_consensus_of(&findings, threshold);
}
