/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which periods are steps, since the results of their sums resemble those of the step before. */
#include "policy/step/evidence.h"

#include <math.h>
#include <string.h>

#include "unit/lib/recurrence.h"

enum { SAMPLE = CGX_RESEMBLANCE_SAMPLE };

static struct cgx_resemblance results;
static struct cgx_sum_log sums;
static uint64_t state; /* of what is drawn */

static void restart(void)
{
    memset(&results, 0, sizeof results);
    memset(&sums, 0, sizeof sums);
    state = 88172645463325252u;
}

/* From -1 to 1. */
static float draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (float)(int32_t)(state >> 32) / 2147483648.0f;
}

/* What all results of tensor WHICH have in common: SHARE of it, in hundredths. */
static float common(uint16_t which, int i, int share)
{
    uint32_t hash = (uint32_t)(which * 2654435761u + (uint32_t)i * 40503u) * 2246822519u;

    return (float)share / 100 * ((float)(int32_t)(hash ^ hash >> 13) / 2147483648.0f);
}

/* A sum of tensor WHICH; of its result COUNT elements are sampled, and one in SPARSE is not zero.
 */
static void sum(uint16_t which, int share, size_t count, int sparse)
{
    float values[SAMPLE];

    for (int i = 0; i < SAMPLE; i++)
        values[i] = i % sparse == 0 ? draw() + common(which, i, share) : 0;
    sums.calls[sums.length++].sum = which;
    cgx_resemblance_add(&results);
    if (count > 0)
        cgx_resemblance_take(&results, values, count);
}

/* Sums of TENSORS, each letter is one, so many TIMES, and one more without its result. */
static uint32_t judged(const char *tensors, int times, int share)
{
    restart();
    for (int i = 0; i < times; i++)
        for (const char *tensor = tensors; *tensor; tensor++)
            sum((uint16_t)*tensor, share, SAMPLE, 1);
    sum((uint16_t)tensors[0], share, 0, 1);
    return cgx_resemblance_judge(&results, &sums);
}

static void test_steps(void)
{
    restart();
    ok(cgx_resemblance_judge(&results, &sums) == 0, "without a sum there is no step");
    ok(judged("A", 4, 100) == 0 && judged("A", 5, 100) == 1, "four pairs of one sum are a step");
    ok(judged("ABC", 2, 100) == 0 && judged("ABC", 3, 100) == 3,
       "three steps of three are one, two are not");
    ok(judged("AABAAB", 4, 100) == 3, "and of sums of which some are alike");
    ok(judged("ABC", 30, 100) == 3, "after many steps too");
    ok(judged("ABC", 30, -100) == 3 && judged("ABC", 30, 15) == 0,
       "whatever the elements are, but not if noise hides them");
    ok(judged("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef", 3, 100) == 32 &&
           judged("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg", 4, 100) == 0,
       "up to the longest step");
}

static void test_layers(void)
{
    unsigned found = 0;

    for (unsigned i = 0; i < 200; i++)
        found += judged(i % 2 ? "ABC" : "A", 12, 0) > 0;
    ok(found == 0, "layers of noise are no steps");
    ok(judged("A", 12, 10000) == 0, "neither are layers that are copies of each other");

    restart();
    for (int i = 0; i < 12; i++) {
        sum('A', 100, SAMPLE, 1);
        sum('B', 0, SAMPLE, 1);
    }
    sum('A', 0, 0, 1);
    ok(cgx_resemblance_judge(&results, &sums) == 0, "half of the sums do not make a step");
    restart();
    for (int i = 0; i < 12; i++) {
        sum('A', 100, SAMPLE, 1);
        sum((uint16_t)(i == 11 ? 'C' : 'B'), 100, SAMPLE, 1);
    }
    sum('A', 0, 0, 1);
    ok(cgx_resemblance_judge(&results, &sums) == 0, "sums that do not repeat neither");
}

/* Results of which little or nothing is known. */
static void test_unknown(void)
{
    float nothing[SAMPLE];

    restart();
    for (int i = 0; i < 12; i++) {
        sum('A', 100, SAMPLE, 1);
        sum('B', 100, SAMPLE, 1);
        sum('T', 100, SAMPLE, 100);
    }
    sum('A', 0, 0, 1);
    ok(cgx_resemblance_judge(&results, &sums) == 3, "a table that few touch is passed over");
    restart();
    for (int i = 0; i < 12; i++) {
        sum('A', 100, SAMPLE, 1);
        sum('T', 100, SAMPLE, 100);
        sum('U', 100, 0, 1);
    }
    sum('A', 0, 0, 1);
    ok(cgx_resemblance_judge(&results, &sums) == 0, "two that are unknown are too many");
    restart();
    for (int i = 0; i < SAMPLE; i++)
        nothing[i] = NAN;
    for (int i = 0; i < 12; i++) {
        sum('A', 100, 0, 1);
        cgx_resemblance_take(&results, nothing, SAMPLE);
    }
    sum('A', 0, 0, 1);
    ok(cgx_resemblance_judge(&results, &sums) == 0, "not-a-numbers say nothing");
    restart();
    for (int i = 0; i < 12; i++)
        sum('A', 100, 200, 1);
    sum('A', 0, 0, 1);
    ok(cgx_resemblance_judge(&results, &sums) == 0, "neither do 200 elements");
}

/* As many sums of a step of three as the ranks need to find it. */
static void test_recurrence(void)
{
    struct cgx_recurrence *made = cgx_recurrence_create(3, 1024);
    struct cgx_occurrence occurrence = {.recurs = false};
    float values[SAMPLE];
    unsigned calls = 0;

    while (!occurrence.recurs && calls < 100) {
        occurrence = next_compared(made, 2000 + calls++ % 3, 1);
        if (!cgx_recurrence_samples(made))
            continue;
        for (int i = 0; i < SAMPLE; i++)
            values[i] = draw() + common((uint16_t)(calls % 3), i, 100);
        cgx_recurrence_result(made, values, SAMPLE);
    }
    ok(calls == 10 && made->pattern.length == 3, "a step of three is known after three steps");
    ok(made->evidence == CGX_EVIDENCE_RESULTS, "by its results");
    cgx_recurrence_free(made);
}

int main(void)
{
    test_steps();
    test_layers();
    test_unknown();
    test_recurrence();
    return done_testing();
}
