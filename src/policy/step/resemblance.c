/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/evidence.h"
#include "policy/step/sums.h"
#include "util/integers.h"

#define RECENT CGX_RESEMBLANCE_RECENT
#define WORDS (CGX_RESEMBLANCE_SAMPLE / 64)

/* Results are compared if at least so many elements are non-zero in both. They resemble each other
 * if the square of the correlation of their signs is at least this, and at least so many times the
 * variance that unrelated results have. Gradients of successive steps correlate by .1 to .5, those
 * of other layers by less than .09 (bench/results/recurrence.md). Results that are the same say
 * nothing: layers may begin as copies of each other. */
#define LEAST_ELEMENTS 256
#define LEAST_SQUARE (1.0 / 64)
#define LEAST_DEVIATIONS 16.0
#define MOST_SQUARE 0.96

/* The fewest pairs of results that are compared. One of them may differ. */
#define LEAST_PAIRS 4

void cgx_resemblance_add(struct cgx_resemblance *resemblance)
{
    resemblance->sums++;
    resemblance->recent[resemblance->sums % RECENT] = (struct cgx_signs){{0}, {0}};
}

void cgx_resemblance_take(struct cgx_resemblance *resemblance, const float *values, size_t count)
{
    struct cgx_signs *signs = &resemblance->recent[resemblance->sums % RECENT];

    *signs = (struct cgx_signs){{0}, {0}};
    for (size_t i = 0; i < count && i < CGX_RESEMBLANCE_SAMPLE; i++) {
        signs->positive[i / 64] |= (uint64_t)(values[i] > 0) << i % 64;
        signs->negative[i / 64] |= (uint64_t)(values[i] < 0) << i % 64;
    }
}

enum likeness { UNKNOWN, UNLIKE, ALIKE };

/* Compares by the phi coefficient of the signs of elements that are non-zero in both. */
static enum likeness compare_signs(const struct cgx_signs *a, const struct cgx_signs *b)
{
    unsigned both[2][2] = {{0}}; /* elements by sign in A and in B */
    double n, covariance, square, scale;

    for (unsigned i = 0; i < WORDS; i++) {
        both[0][0] += (unsigned)__builtin_popcountll(a->negative[i] & b->negative[i]);
        both[0][1] += (unsigned)__builtin_popcountll(a->negative[i] & b->positive[i]);
        both[1][0] += (unsigned)__builtin_popcountll(a->positive[i] & b->negative[i]);
        both[1][1] += (unsigned)__builtin_popcountll(a->positive[i] & b->positive[i]);
    }
    n = (double)both[0][0] + both[0][1] + both[1][0] + both[1][1];
    scale = ((double)both[0][0] + both[0][1]) * ((double)both[1][0] + both[1][1]) *
            ((double)both[0][0] + both[1][0]) * ((double)both[0][1] + both[1][1]);
    if (n < LEAST_ELEMENTS || scale == 0)
        return UNKNOWN;
    covariance = (double)both[0][0] * both[1][1] - (double)both[0][1] * both[1][0];
    square = covariance * covariance / scale;
    return square >= LEAST_SQUARE && square <= MOST_SQUARE && square * n >= LEAST_DEVIATIONS
               ? ALIKE
               : UNLIKE;
}

/* Whether the results of the latest sums but the last resemble the results PERIOD sums before. The
 * KNOWN sums have results. */
static bool results_resemble(const struct cgx_resemblance *resemblance,
                             const struct cgx_sum_log *log, size_t period, size_t known)
{
    size_t least = period < LEAST_PAIRS ? LEAST_PAIRS : period, pairs = 0, judged = 0, alike = 0;

    while (pairs < 2 * least && pairs + period < known &&
           cgx_sum_log_ago(log, pairs + 1) == cgx_sum_log_ago(log, pairs + 1 + period)) {
        size_t sum = resemblance->sums - ++pairs;
        enum likeness likeness = compare_signs(&resemblance->recent[sum % RECENT],
                                               &resemblance->recent[(sum - period) % RECENT]);

        judged += likeness != UNKNOWN;
        alike += likeness == ALIKE;
    }
    return pairs >= least && alike >= LEAST_PAIRS - 1 && 2 * judged >= pairs &&
           3 * alike >= 2 * judged;
}

uint32_t cgx_resemblance_judge(const struct cgx_resemblance *resemblance,
                               const struct cgx_sum_log *log)
{
    size_t known = cgx_smaller(cgx_smaller(resemblance->sums, RECENT), log->length);

    for (size_t period = 1; period <= CGX_RESEMBLANCE_LONGEST; period++)
        if (results_resemble(resemblance, log, period, known - (known > 0)))
            return (uint32_t)period;
    return 0;
}
