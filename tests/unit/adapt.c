/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* When widths are measured and chosen, and what follows from them. */
#include "lib/tap.h"
#include "unit/adapt_steps.h"

static void test_first(void)
{
    struct cgx_adapt *adapt = create();
    bool quiet, measured;

    measured = cgx_adapt_measures(adapt);
    quiet = step(adapt, various) == CGX_ADAPT_NOTHING;
    measured = measured && cgx_adapt_measures(adapt);
    quiet = quiet && step(adapt, various) == CGX_ADAPT_NOTHING;
    ok(quiet && measured && cgx_adapt_measures(adapt), "the first three steps are measured");
    ok(step(adapt, various) == CGX_ADAPT_MEASURED, "after them widths are chosen");
    carry_out(adapt, CGX_ADAPT_MEASURED);
    ok(relative_error(adapt, various) <= 1 && mean_bits(adapt) < 4,
       "that have less bytes than the base width (%.2f bits), and at most its error (%.2f)",
       mean_bits(adapt), relative_error(adapt, various));
    ok(bits_at(adapt, 3) > bits_at(adapt, 5) && bits_at(adapt, 0) > bits_at(adapt, 7),
       "larger segments have more bits");
    ok(!adapt->layers[1].plan, "a buffer of fixed width has no part in it");
    cgx_adapt_free(adapt);
}

static void test_alike(void)
{
    static const double alike[SEGMENTS] = {1, 1.01, 1, 0.99, 1, 1, 1.02, 1};
    struct cgx_adapt *adapt = create();

    steps(adapt, alike, CGX_ADAPT_FIRST);
    ok(mean_bits(adapt) == 4, "segments alike keep the base width: none costs more");
    cgx_adapt_free(adapt);
}

static void test_period(void)
{
    struct cgx_adapt *adapt = create();
    unsigned before = 0, measured = 0, phases = 0;
    enum cgx_adapt_due due = CGX_ADAPT_NOTHING;

    adapt->period = 5 * PERIOD;
    steps(adapt, various, CGX_ADAPT_FIRST);
    for (; before < 10 * PERIOD && !cgx_adapt_measures(adapt); before++)
        due = step(adapt, various);
    ok(before == 5 * PERIOD - CGX_ADAPT_MEASURED_STEPS && due == CGX_ADAPT_NOTHING,
       "the last %u steps of a period are measured, and none before", CGX_ADAPT_MEASURED_STEPS);
    for (; measured < 10 * PERIOD && due == CGX_ADAPT_NOTHING; measured++) {
        struct cgx_sampling sampling = cgx_adapt_sampling(adapt);

        phases |= sampling.phases == CGX_SAMPLE_PHASES ? 1u << sampling.phase : 0;
        due = step(adapt, various);
    }
    ok(measured == CGX_ADAPT_MEASURED_STEPS && due == CGX_ADAPT_MEASURED, "and their end chooses");
    ok(phases == (1u << CGX_SAMPLE_PHASES) - 1, "each of them samples other buckets, 1 in %u",
       CGX_SAMPLE_GROUP);
    cgx_adapt_free(adapt);
}

/* The shorter the measurement, the more it samples. */
static void test_short_period(void)
{
    struct cgx_adapt *adapt = create();
    bool good = true;

    adapt->period = 3;
    steps(adapt, various, CGX_ADAPT_FIRST);
    for (unsigned i = 0; i < 3; i++) {
        struct cgx_sampling sampling = cgx_adapt_sampling(adapt);

        good = good && cgx_adapt_measures(adapt) && sampling.phases == 4 && sampling.phase == i;
        step(adapt, various);
    }
    ok(good, "a period of 3 steps: all are measured, 1 bucket in 16");
    cgx_adapt_free(adapt);
}

static void test_flutter(void)
{
    struct cgx_adapt *adapt = create();
    double ranges[SEGMENTS];
    unsigned before[SEGMENTS];
    bool same = true;

    steps(adapt, various, CGX_ADAPT_FIRST);
    for (size_t s = 0; s < SEGMENTS; s++) {
        before[s] = bits_at(adapt, s);
        ranges[s] = various[s] * (s % 2 ? 1.01 : 0.99);
    }
    steps(adapt, ranges, PERIOD);
    for (size_t s = 0; s < SEGMENTS; s++)
        same = same && bits_at(adapt, s) == before[s];
    ok(adapt->choices == 2 && same, "widths stay when a choice would hardly gain");
    cgx_adapt_free(adapt);
}

static void test_guard(void)
{
    struct cgx_adapt *adapt = create();
    double ranges[SEGMENTS];
    enum cgx_adapt_due due;

    steps(adapt, various, CGX_ADAPT_FIRST);
    memcpy(ranges, various, sizeof ranges);
    for (size_t s = 0; s < SEGMENTS; s++)
        ranges[s] *= 500;
    ok(step(adapt, ranges) == CGX_ADAPT_NOTHING, "when all segments grow alike nothing is to do");
    memcpy(ranges, various, sizeof ranges);
    ranges[7] *= 500;
    due = step(adapt, ranges);
    ok(due == CGX_ADAPT_SCALED && relative_error(adapt, ranges) > 1.1,
       "a small segment that grows is seen at the end of the step");
    carry_out(adapt, due);
    ok(relative_error(adapt, ranges) <= 1, "and has the bits it needs in the next");
    ok(cgx_adapt_measures(adapt) && step(adapt, ranges) == CGX_ADAPT_MEASURED,
       "which is measured, so that the estimate does not stay one");
    cgx_adapt_free(adapt);
}

static void test_zeros(void)
{
    struct cgx_adapt *adapt = create();
    double ranges[SEGMENTS];
    enum cgx_adapt_due due;

    memcpy(ranges, various, sizeof ranges);
    ranges[3] = 0;
    steps(adapt, ranges, CGX_ADAPT_FIRST);
    ok(bits_at(adapt, 3) == 3, "a segment of zeros has the least width");
    due = step(adapt, various);
    ok(due == CGX_ADAPT_SCALED, "when it is none any more that is seen");
    carry_out(adapt, due);
    ok(relative_error(adapt, various) <= 1, "and its error modelled until it is measured");
    memset(ranges, 0, sizeof ranges);
    steps(adapt, ranges, 3 * PERIOD);
    ok(bits_at(adapt, 0) == 3, "all zeros have the least width everywhere");
    steps(adapt, various, 2);
    ok(relative_error(adapt, various) <= 1, "and what comes after them is within the budget");
    cgx_adapt_free(adapt);
}

static void test_nonfinite(void)
{
    struct cgx_adapt *adapt = create();
    double ranges[SEGMENTS];
    unsigned before;

    steps(adapt, various, CGX_ADAPT_FIRST);
    before = bits_at(adapt, 3);
    memcpy(ranges, various, sizeof ranges);
    ranges[3] = NAN;
    steps(adapt, ranges, 2 * PERIOD);
    ok(bits_at(adapt, 3) == before, "a segment that turns NaN keeps what was known of it");
    ranges[3] = INFINITY;
    steps(adapt, ranges, 2 * PERIOD);
    ok(bits_at(adapt, 3) == before, "and one that turns infinite");
    steps(adapt, various, 2 * PERIOD);
    ok(relative_error(adapt, various) <= 1, "and comes back");
    cgx_adapt_free(adapt);

    adapt = create();
    for (size_t s = 0; s < SEGMENTS; s++)
        ranges[s] = NAN;
    steps(adapt, ranges, 2 * PERIOD);
    steps(adapt, various, 2);
    ok(relative_error(adapt, various) <= 1, "what was never finite is modelled when it is");
    cgx_adapt_free(adapt);
}

static void test_out_of_reach(void)
{
    struct cgx_adapt *adapt = create();
    unsigned chosen = 0;

    adapt->alpha = 1e-6;
    steps(adapt, various, CGX_ADAPT_FIRST);
    ok(mean_bits(adapt) == 8, "a budget out of reach takes the most bits there are");
    for (unsigned i = 0; i < PERIOD - 1; i++)
        chosen += step(adapt, various) != CGX_ADAPT_NOTHING;
    ok(chosen == 0, "and is not tried again in every step");
    cgx_adapt_free(adapt);
}

/* ---- steps that lack something ---- */

static void test_missed(void)
{
    struct cgx_adapt *adapt = create(), *other = create();
    double *energies = adapt->layers[2].energies;
    bool same = true;
    unsigned before;

    step(adapt, various);
    for (size_t s = 0; s < SEGMENTS; s++)
        adapt->layers[0].findings[s].errors[3] = 1e30; /* stale */
    /* The second step has the last buffer alone, the third both. */
    for (size_t s = 0; s < SEGMENTS; s++) {
        energies[s] = 12 * error_of(various[s], 4);
        adapt->layers[2].findings[s] = finding_of(various[s]);
    }
    same = cgx_adapt_step(adapt) == CGX_ADAPT_NOTHING;
    carry_out(adapt, step(adapt, various));
    steps(other, various, CGX_ADAPT_FIRST);
    for (size_t s = 0; s < SEGMENTS; s++)
        same = same && bits_in(adapt, 0, s) == bits_in(other, 0, s) &&
               bits_in(adapt, 2, s) == bits_in(other, 2, s);
    ok(same, "a buffer that is missed in a measured step is measured in the others");
    before = bits_in(adapt, 0, 3);
    for (unsigned i = 0; i < 2 * PERIOD; i++) {
        enum cgx_adapt_due due;

        for (size_t s = 0; s < SEGMENTS; s++) {
            energies[s] = 12 * error_of(various[s], bits_in(adapt, 2, s));
            adapt->layers[2].findings[s] = finding_of(various[s]);
        }
        due = cgx_adapt_step(adapt);
        same = same && due != CGX_ADAPT_SCALED;
        carry_out(adapt, due);
    }
    ok(same && bits_in(adapt, 0, 3) == before, "one that is missed for long keeps what was known");
    cgx_adapt_free(adapt);
    cgx_adapt_free(other);

    adapt = create();
    for (unsigned i = 0; i < CGX_ADAPT_FIRST; i++) {
        for (size_t s = 0; s < SEGMENTS; s++) {
            adapt->layers[2].energies[s] = 12 * error_of(various[s], 4);
            adapt->layers[2].findings[s] = finding_of(various[s]);
        }
        carry_out(adapt, cgx_adapt_step(adapt));
    }
    ok(adapt->choices == 1 && bits_in(adapt, 0, 3) == 4 && bits_in(adapt, 2, 3) > 4,
       "one that was never seen keeps the base width, and the others have theirs");
    cgx_adapt_free(adapt);
}

/* Ratios of sums: a step of large values counts for as much as it is, and its share in the error of
 * that. */
static void test_mean(void)
{
    struct cgx_adapt *adapt = create();
    double ranges[SEGMENTS], error, budget;

    for (unsigned i = 0; i < CGX_ADAPT_FIRST; i++) {
        for (size_t s = 0; s < SEGMENTS; s++)
            ranges[s] = various[s] * (i + 1);
        carry_out(adapt, step(adapt, ranges));
    }
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(fabs(adapt->layers[0].known[3][3] / error_of(various[3], 4) - 14.0 / 3) < 1e-9 &&
           adapt->layers[0].scale[3] == 1,
       "errors are the mean of the measured steps");
    ok(error <= budget, "and within the budget");
    cgx_adapt_free(adapt);
}

int main(void)
{
    test_first();
    test_alike();
    test_period();
    test_short_period();
    test_missed();
    test_mean();
    test_flutter();
    test_guard();
    test_zeros();
    test_nonfinite();
    test_out_of_reach();
    return done_testing();
}
