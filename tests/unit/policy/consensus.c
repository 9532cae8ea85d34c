/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether ranks contribute nearly the same, told from samples. */
#include "policy/consensus.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/tap.h"

enum { MOST_RANKS = 64, ELEMENTS = 512 };

static float inputs[MOST_RANKS][ELEMENTS], sum[ELEMENTS];

/* Uniform with variance 1, a function of its arguments. */
static float noise(uint64_t rank, uint64_t element)
{
    uint64_t x = rank * UINT64_C(0x9E3779B97F4A7C15) + element * UINT64_C(0xBF58476D1CE4E5B9) + 1;

    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return (float)(((double)(x >> 40) * 0x1p-24 - 0.5) * 3.4641016151377544);
}

static void form_sum(unsigned ranks)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        double exact = 0;

        for (unsigned r = 0; r < ranks; r++)
            exact += (double)inputs[r][i];
        sum[i] = (float)exact;
    }
}

/* What all ranks share, and of what is their own the root of DISTANCE. */
static void make(unsigned ranks, double common, double distance)
{
    for (unsigned r = 0; r < ranks; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] =
                (float)(common * (double)noise(1000, i) + sqrt(distance) * (double)noise(r, i));
    }
}

static struct cgx_verdict verdict_after(unsigned ranks, double setting, double change)
{
    uint32_t least[CGX_CONSENSUS_WORDS];

    form_sum(ranks);
    for (int i = 0; i < CGX_CONSENSUS_WORDS; i++)
        least[i] = INT32_MAX;
    for (unsigned r = 0; r < ranks; r++) {
        struct cgx_closeness closeness = {0};
        uint32_t words[CGX_CONSENSUS_WORDS];

        cgx_closeness_add(&closeness, inputs[r], sum, ELEMENTS / 2, ranks);
        cgx_closeness_add(&closeness, inputs[r] + ELEMENTS / 2, sum + ELEMENTS / 2, ELEMENTS / 2,
                          ranks);
        cgx_consensus_vote(&closeness, change, r, words);
        /* As MPICH 4.0 has it, which takes words for integers with signs. */
        for (int i = 0; i < CGX_CONSENSUS_WORDS; i++)
            least[i] = (int32_t)words[i] < (int32_t)least[i] ? words[i] : least[i];
    }
    return cgx_consensus_judge(least, cgx_consensus_threshold(setting, ranks));
}

static struct cgx_verdict verdict_of(unsigned ranks, double setting)
{
    return verdict_after(ranks, setting, INFINITY);
}

static enum cgx_consensus consensus_of(unsigned ranks)
{
    return verdict_of(ranks, 0.05).consensus;
}

static void test_distances(void)
{
    static const unsigned ranks[] = {2, 3, 4, 8, 64};
    bool weights = true, gradients = true, nearest = true;

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        double threshold = cgx_consensus_threshold(0.05, ranks[i]), least = INFINITY;

        make(ranks[i], 1, 0.4 * threshold);
        weights = weights && consensus_of(ranks[i]) == CGX_CONSENSUS_CLOSE;
        make(ranks[i], 1, 4 * threshold);
        gradients = gradients && consensus_of(ranks[i]) == CGX_CONSENSUS_NONE;
        for (unsigned r = 0; r < ranks[i]; r++) {
            double apart = 0, mean = 0;

            for (size_t k = 0; k < ELEMENTS; k++) {
                double part = (double)sum[k] / ranks[i];

                apart += ((double)inputs[r][k] - part) * ((double)inputs[r][k] - part);
                mean += part * part;
            }
            least = apart / mean < least ? apart / mean : least;
        }
        nearest = nearest && fabs(verdict_of(ranks[i], 0.05).distance / least - 1) < 1e-6;
    }
    ok(weights, "ranks that are near their mean are a consensus");
    ok(gradients, "ranks that are far from it are none");
    ok(nearest, "the distance is that of the rank that is nearest");
    ok(verdict_of(8, 0).consensus == CGX_CONSENSUS_NONE, "with a threshold of 0 there is none");
}

static void test_thresholds(void)
{
    ok(fabs(cgx_consensus_threshold(0.05, 2) - 0.02) < 1e-12 &&
           fabs(cgx_consensus_threshold(0.05, 3) - 0.04) < 1e-12,
       "two and three ranks are nearer to their mean than more");
    ok(cgx_consensus_threshold(0.05, 4) == 0.05 && cgx_consensus_threshold(0.05, 4096) == 0.05,
       "from four ranks on the threshold is the setting");
}

static void test_straggler(void)
{
    make(8, 1, 1e-4);
    for (size_t i = 0; i < ELEMENTS; i++)
        inputs[2][i] += 0.5f * noise(7, i);
    ok(consensus_of(8) == CGX_CONSENSUS_CLOSE, "one rank that differs does not hide weights");
}

static void test_change(void)
{
    make(4, 0, 1);
    ok(verdict_after(4, 0.05, 0.9 * CGX_CONSENSUS_CHANGE).consensus == CGX_CONSENSUS_STILL,
       "a sum that has hardly changed is state");
    ok(verdict_after(4, 0.05, 1.1 * CGX_CONSENSUS_CHANGE).consensus == CGX_CONSENSUS_NONE,
       "one that has changed is none");
    ok(verdict_of(4, 0.05).change == INFINITY, "a change that is not known is infinite");
}

static void test_signs(void)
{
    make(4, 1, 1);
    for (unsigned r = 0; r < 4; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] *= inputs[r][i];
    }
    ok(consensus_of(4) == CGX_CONSENSUS_ONE_SIGN, "sums that are nowhere negative");
    for (unsigned r = 0; r < 4; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] = -inputs[r][i];
    }
    ok(consensus_of(4) == CGX_CONSENSUS_ONE_SIGN, "or nowhere positive");
}

static void test_disjoint(void)
{
    make(4, 0, 1);
    for (unsigned r = 0; r < 4; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] = i % 4 == r ? inputs[r][i] : 0;
    }
    ok(consensus_of(4) == CGX_CONSENSUS_DISJOINT, "elements that one rank alone has");
    inputs[0][1] = 1;
    ok(consensus_of(4) == CGX_CONSENSUS_NONE, "one element that two have is enough");
    inputs[0][1] = 0;
    for (size_t i = 0; i < ELEMENTS; i++) {
        for (unsigned r = 0; r < 4; r++)
            inputs[r][i] = r == 2 ? noise(2, i) : 0;
    }
    ok(consensus_of(4) == CGX_CONSENSUS_NONE,
       "what one rank alone has may be an expert's gradient");
    make(4, 0, 1);
    for (unsigned r = 0; r < 4; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] = i % 4 == r ? inputs[r][i] : 0;
    }
    for (unsigned r = 0; r < 4; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] = i % 32 < 4 ? inputs[r][i] : 0;
    }
    ok(consensus_of(4) == CGX_CONSENSUS_NONE,
       "rows of a table that few ranks have touched are none");
}

static void test_nothing(void)
{
    make(2, 0, 0);
    ok(consensus_of(2) == CGX_CONSENSUS_UNKNOWN, "zeros say nothing");
    make(2, 1, 1);
    inputs[1][77] = NAN;
    ok(consensus_of(2) == CGX_CONSENSUS_UNKNOWN, "nor does a sample with a NaN");
    inputs[1][77] = INFINITY;
    ok(consensus_of(2) == CGX_CONSENSUS_UNKNOWN, "or an infinity");
    make(2, 1, 0);
    for (size_t i = 0; i < ELEMENTS; i++)
        inputs[1][i] = -inputs[0][i];
    ok(consensus_of(2) == CGX_CONSENSUS_NONE, "opposite inputs are none");
}

/* Of 64 rows all ranks have one alike, which is larger than all others together. */
static void test_rows(void)
{
    struct cgx_closeness closeness = {.threshold = 0.05};
    uint32_t words[CGX_CONSENSUS_WORDS];
    float row[64], both[64];

    for (unsigned r = 0; r < 64; r++) {
        for (size_t i = 0; i < 64; i++) {
            row[i] = r == 0 ? 100 * noise(1, i) : noise(2 + r, i);
            both[i] = row[i] + (r == 0 ? row[i] : noise(100 + r, i));
        }
        cgx_closeness_add(&closeness, row, both, 64, 2);
    }
    cgx_consensus_vote(&closeness, INFINITY, 0, words);
    ok(closeness.deviation < 0.05 * closeness.mean &&
           cgx_consensus_judge(words, 0.05).consensus == CGX_CONSENSUS_NONE,
       "one large row that is alike on all ranks does not make weights of a gradient");
}

int main(void)
{
    test_distances();
    test_thresholds();
    test_straggler();
    test_change();
    test_signs();
    test_disjoint();
    test_nothing();
    test_rows();
    return done_testing();
}
