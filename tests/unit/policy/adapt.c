/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* When widths are measured and chosen, and what follows from them. */
#include <stdio.h>

#include "lib/tap.h"
#include "unit/lib/adapt_steps.h"

static void test_first(void)
{
    bool quiet, measured;

    begin();
    measured = cgx_adapt_measures(adapt);
    quiet = step(various) == CGX_ADAPT_NOTHING;
    measured = measured && cgx_adapt_measures(adapt);
    quiet = quiet && step(various) == CGX_ADAPT_NOTHING;
    ok(quiet && measured && cgx_adapt_measures(adapt), "the first three steps are measured");
    ok(step(various) == CGX_ADAPT_MEASURED, "after them families are chosen");
    carry_out(CGX_ADAPT_MEASURED);
    steps(various, CGX_ADAPT_LEAST - CGX_ADAPT_FIRST - 1);
    ok(mean_bits() == 4 && adapt->choices == 1, "base widths stay up to step %u", CGX_ADAPT_LEAST);
    steps(various, 1);
    ok(adapt->choices == 2 && relative_error(various) <= 1 && mean_bits() < 4,
       "then others have less bytes (%.2f bits), and at most their error (%.2f)", mean_bits(),
       relative_error(various));
    ok(bits_at(3) > bits_at(5) && bits_at(0) > bits_at(7), "larger segments have more bits");
    ok(!adapt->layers[1].plan, "a buffer of fixed width has no part in it");
}

static void test_alike(void)
{
    static const double alike[SEGMENTS] = {1, 1.01, 1, 0.99, 1, 1, 1.02, 1};

    begin();
    steps(alike, STEPS_AT_BASE);
    ok(mean_bits() == 4, "segments alike keep the base width: none costs more");
}

/* The steps of the first COUNT choices, as text. */
static const char *when_chosen(unsigned period, unsigned count)
{
    static char text[128];
    size_t used = 0;

    begin();
    adapt->period = period;
    for (unsigned i = 1; adapt->choices < count && i < 1000; i++) {
        enum cgx_adapt_due due = step(various);

        if (due != CGX_ADAPT_NOTHING)
            used += (size_t)snprintf(text + used, sizeof text - used, " %u", i);
        carry_out(due);
    }
    return text;
}

static void test_choices(void)
{
    ok(strcmp(when_chosen(100, 6), " 3 16 32 64 164 264") == 0, "choices of a period of 100 steps");
    ok(strcmp(when_chosen(20, 5), " 3 16 32 52 72") == 0, "choices of one of 20 steps");
    ok(strcmp(when_chosen(3, 5), " 3 16 19 22 25") == 0, "choices of one of 3 steps");
}

static void test_period(void)
{
    unsigned before = 0, measured = 0, phases = 0;
    enum cgx_adapt_due due = CGX_ADAPT_NOTHING;

    begin();
    adapt->period = 5 * PERIOD;
    steps(various, CGX_ADAPT_MEAN);
    for (; before < 10 * PERIOD && !cgx_adapt_measures(adapt); before++)
        due = step(various);
    ok(before == 5 * PERIOD - CGX_ADAPT_MEASURED_STEPS && due == CGX_ADAPT_NOTHING,
       "the last %u steps of a period are measured, and none before", CGX_ADAPT_MEASURED_STEPS);
    for (; measured < 10 * PERIOD && due == CGX_ADAPT_NOTHING; measured++) {
        struct cgx_sampling sampling = cgx_adapt_sampling(adapt);

        phases |= sampling.phases == CGX_SAMPLE_PHASES ? 1u << sampling.phase : 0;
        due = step(various);
    }
    ok(measured == CGX_ADAPT_MEASURED_STEPS && due == CGX_ADAPT_MEASURED, "and their end chooses");
    ok(phases == (1u << CGX_SAMPLE_PHASES) - 1, "each of them samples other buckets, 1 in %u",
       CGX_SAMPLE_GROUP);
}

/* The shorter the measurement, the more it samples. */
static void test_short_period(void)
{
    bool good = true;

    begin();
    adapt->period = 3;
    steps(various, STEPS_AT_BASE);
    for (unsigned i = 0; i < 3; i++) {
        struct cgx_sampling sampling = cgx_adapt_sampling(adapt);

        good = good && cgx_adapt_measures(adapt) && sampling.phases == 4 && sampling.phase == i;
        step(various);
    }
    ok(good, "a period of 3 steps: all are measured, 1 bucket in 16");
}

static void test_flutter(void)
{
    double ranges[SEGMENTS];
    unsigned before[SEGMENTS];
    bool same = true;

    begin();
    steps(various, STEPS_AT_BASE);
    for (size_t s = 0; s < SEGMENTS; s++) {
        before[s] = bits_at(s);
        ranges[s] = various[s] * (s % 2 ? 1.01 : 0.99);
    }
    steps(ranges, PERIOD);
    for (size_t s = 0; s < SEGMENTS; s++)
        same = same && bits_at(s) == before[s];
    ok(adapt->choices == 3 && same, "widths stay when a choice would hardly gain");
}

static void test_zeros(void)
{
    double ranges[SEGMENTS];
    enum cgx_adapt_due due;
    unsigned before;

    begin();
    memcpy(ranges, various, sizeof ranges);
    ranges[3] = 0;
    steps(ranges, STEPS_AT_BASE);
    ok(bits_at(3) == 3, "a segment of zeros has the least width");
    carry_out(step(various));
    due = step(various);
    ok(due == CGX_ADAPT_SCALED, "when it is none any more that is seen");
    carry_out(due);
    ok(relative_error(various) <= 1, "and its error modelled until it is measured");
    steps(various, STEPS_AT_BASE);
    before = bits_at(0);
    memset(ranges, 0, sizeof ranges);
    steps(ranges, 3 * PERIOD);
    ok(bits_at(0) == before, "steps of nothing but zeros change nothing");
    steps(various, 2);
    ok(relative_error(various) <= 1, "and what comes after them is within the budget");
}

static void test_nonfinite(void)
{
    double ranges[SEGMENTS];
    unsigned before;

    begin();
    steps(various, STEPS_AT_BASE);
    before = bits_at(3);
    memcpy(ranges, various, sizeof ranges);
    ranges[3] = NAN;
    steps(ranges, 2 * PERIOD);
    ok(bits_at(3) == before, "a segment that turns NaN keeps what was known of it");
    ranges[3] = INFINITY;
    steps(ranges, 2 * PERIOD);
    ok(bits_at(3) == before, "and one that turns infinite");
    steps(various, 2 * PERIOD);
    ok(relative_error(various) <= 1, "and comes back");

    begin();
    for (size_t s = 0; s < SEGMENTS; s++)
        ranges[s] = NAN;
    steps(ranges, 2 * PERIOD);
    steps(various, 2);
    ok(relative_error(various) <= 1, "what was never finite is modelled when it is");
}

static void test_out_of_reach(void)
{
    unsigned chosen = 0;

    begin();
    adapt->alpha = 1e-6;
    steps(various, CGX_ADAPT_FIRST);
    ok(mean_bits() == 8, "a budget out of reach takes the most bits there are");
    for (unsigned i = 0; i < 100; i++) {
        enum cgx_adapt_due due = step(various);

        chosen += due != CGX_ADAPT_NOTHING;
        carry_out(due);
    }
    ok(mean_bits() == 8 && chosen < 14, "and is not tried again in every step");
}

/* ---- steps that lack something ---- */

/* A step of the last buffer alone. */
static enum cgx_adapt_due step_last(void)
{
    struct cgx_adapt_layer *last = &adapt->layers[2];

    for (size_t s = 0; s < SEGMENTS; s++) {
        last->energies[s] = 12 * error_of(various[s], bits_in(2, s));
        last->findings[s] = finding_of(various[s]);
    }
    return cgx_adapt_step(adapt);
}

static void test_missed(void)
{
    unsigned before;
    bool same;

    begin();
    steps(various, CGX_ADAPT_FIRST + 1);
    for (size_t s = 0; s < SEGMENTS; s++)
        adapt->layers[0].findings[s].errors[3] = 1e30; /* stale */
    /* The steps after it have both again. */
    same = step_last() == CGX_ADAPT_NOTHING;
    steps(various, CGX_ADAPT_LEAST - CGX_ADAPT_FIRST - 2);
    for (size_t s = 0; s < SEGMENTS; s++)
        for (size_t i = 0; i < 3; i += 2)
            same = same &&
                   fabs(adapt->layers[i].segments[s].known.errors[3] / error_of(various[s], 4) -
                        1) < 1e-9;
    ok(same, "a buffer that is missed in a measured step is measured in the others");
    before = bits_in(0, 3);
    for (unsigned i = 0; i < 2 * PERIOD; i++) {
        enum cgx_adapt_due due = step_last();

        same = same && due != CGX_ADAPT_SCALED;
        carry_out(due);
    }
    ok(same && bits_in(0, 3) == before, "one that is missed for long keeps what was known");

    begin();
    for (unsigned i = 0; i < STEPS_AT_BASE; i++)
        carry_out(step_last());
    ok(adapt->choices == 2 && bits_in(0, 3) == 4 && bits_in(2, 3) > 4,
       "one that was never seen keeps the base width, and the others have theirs");
}

/* Ratios of sums: a step of large values counts for as much as it is, and its share in the error of
 * that. Estimates are of the last step's size. */
static void test_mean(void)
{
    const struct cgx_adapt_segment *segment;
    double ranges[SEGMENTS], error, budget, mean = 0;

    begin();
    for (unsigned i = 1; i <= STEPS_AT_BASE; i++) {
        for (size_t s = 0; s < SEGMENTS; s++)
            ranges[s] = various[s] * i;
        mean += i > CGX_ADAPT_FIRST ? i * i : 0;
        carry_out(step(ranges));
    }
    mean /= STEPS_AT_BASE - CGX_ADAPT_FIRST;
    segment = &adapt->layers[0].segments[3];
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(fabs(segment->known.errors[3] / error_of(various[3], 4) - mean) < 1e-9 &&
           fabs(segment->scale * mean - STEPS_AT_BASE * STEPS_AT_BASE) < 1e-9,
       "errors are the mean of the measured steps");
    ok(error <= budget, "and within the budget");
}

int main(void)
{
    test_first();
    test_alike();
    test_choices();
    test_period();
    test_short_period();
    test_missed();
    test_mean();
    test_flutter();
    test_zeros();
    test_nonfinite();
    test_out_of_reach();
    cgx_adapt_free(adapt);
    return done_testing();
}
