/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* When widths are measured and chosen, and what follows from them. The data is a model: elements
 * spread evenly, so that n u^2 / 12 is their error. */
#include "policy/adapt.h"

#include <math.h>
#include <string.h>

#include "lib/tap.h"

enum { SEGMENTS = 8, LAYERS = 2, PERIOD = 10 };

static const struct cgx_settings settings = {.bits = 4,
                                             .bucket_size = 512,
                                             .adaptive = true,
                                             .adaptive_bits = 3u << 16 | 8u,
                                             .adaptive_period = PERIOD,
                                             .adaptive_budget = 1.0};

/* Two buffers with a call of fixed width between them. */
static struct cgx_adapt *create(void)
{
    const size_t count = (size_t)SEGMENTS * CGX_SEGMENT_ELEMENTS;
    const struct cgx_say say = {.least = 6, .most = 6};
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, count);
    struct cgx_plan *fixed = cgx_plan_create(&settings, &say, CGX_FLOAT32, count);
    const struct cgx_plan *plans[] = {plan, fixed, plan};
    struct cgx_adapt *adapt = cgx_adapt_create(&settings, plans, 3);

    cgx_plan_free(plan);
    cgx_plan_free(fixed);
    return adapt;
}

static double error_of(double range, unsigned bits)
{
    double steps = (double)((1u << bits) - 1);

    return CGX_SEGMENT_ELEMENTS * range * range / (steps * steps) / 12;
}

/* Of everything: both weights are equal, and powers those of elements spread evenly about 0. */
static struct cgx_finding finding_of(double range)
{
    double weight = CGX_SEGMENT_ELEMENTS * range * range;
    struct cgx_finding finding = {.sampled = weight, .quantised = weight, .owned = weight};

    for (unsigned bits = 1; bits <= CGX_WIDTHS; bits++)
        finding.errors[bits - 1] = error_of(range, bits);
    finding.powers[CGX_POWER_SUM] = weight / 12;
    finding.seen[CGX_POWER_SUM] = weight;
    return finding;
}

/* One step in which segment S of each buffer has the range RANGES[S]. */
static enum cgx_adapt_due step(struct cgx_adapt *adapt, const double *ranges)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            layer->spreads[s] = 12 * error_of(ranges[s], layer->plan->segments[s].bits);
            if (cgx_adapt_measures(adapt))
                layer->findings[s] = finding_of(ranges[s]);
        }
    }
    return cgx_adapt_step(adapt);
}

/* What ranks do then, of which there is one. */
static void carry_out(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    if (due == CGX_ADAPT_NOTHING)
        return;
    memcpy(adapt->summed, adapt->measured, adapt->nsegments * sizeof adapt->measured[0]);
    cgx_adapt_choose(adapt, due);
    cgx_adapt_take(adapt, due);
}

static void steps(struct cgx_adapt *adapt, const double *ranges, unsigned count)
{
    while (count-- > 0)
        carry_out(adapt, step(adapt, ranges));
}

static unsigned bits_in(const struct cgx_adapt *adapt, size_t layer, size_t segment)
{
    return adapt->layers[layer].plan->segments[segment].bits;
}

static unsigned bits_at(const struct cgx_adapt *adapt, size_t segment)
{
    return bits_in(adapt, 0, segment);
}

/* Error over that of the base width. */
static double relative_error(const struct cgx_adapt *adapt, const double *ranges)
{
    double now = 0, base = 0;

    for (size_t s = 0; s < SEGMENTS; s++) {
        now +=
            error_of(ranges[s], bits_in(adapt, 0, s)) + error_of(ranges[s], bits_in(adapt, 2, s));
        base += 2 * error_of(ranges[s], 4);
    }
    return now / base;
}

static double mean_bits(const struct cgx_adapt *adapt)
{
    unsigned sum = 0;

    for (size_t s = 0; s < SEGMENTS; s++)
        sum += bits_in(adapt, 0, s) + bits_in(adapt, 2, s);
    return (double)sum / (2 * SEGMENTS);
}

static const double various[SEGMENTS] = {1, 0.2, 0.1, 2, 0.02, 0.5, 1, 0.01};

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
    double *spreads = adapt->layers[2].spreads;
    bool same = true;
    unsigned before;

    step(adapt, various);
    for (size_t s = 0; s < SEGMENTS; s++)
        adapt->layers[0].findings[s].errors[3] = 1e30; /* stale */
    /* The second step has the last buffer alone, the third both. */
    for (size_t s = 0; s < SEGMENTS; s++) {
        spreads[s] = 12 * error_of(various[s], 4);
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
            spreads[s] = 12 * error_of(various[s], bits_in(adapt, 2, s));
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
            adapt->layers[2].spreads[s] = 12 * error_of(various[s], 4);
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

/* ---- budgets ---- */

/* A step of one in which the sums of all segments have these powers over that of elements spread
 * evenly; at the base width payloads have their errors in them. */
static enum cgx_adapt_due step_with(struct cgx_adapt *adapt, const double *ranges, double inputs,
                                    double sum, double change)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        layer->addends = 4;
        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            struct cgx_finding *finding = &layer->findings[s];
            double weight = CGX_SEGMENT_ELEMENTS * ranges[s] * ranges[s];
            double error = error_of(ranges[s], layer->plan->segments[s].bits);
            double part = inputs / (inputs * 3 / 4 + sum);

            layer->spreads[s] = 12 * error;
            if (!cgx_adapt_measures(adapt))
                continue;
            *finding = finding_of(ranges[s]);
            finding->powers[CGX_POWER_INPUTS] = inputs * weight / 12 + part * error;
            finding->powers[CGX_POWER_SUM] = sum * weight / 12 + error;
            finding->powers[CGX_POWER_CHANGE] = change * weight / 12 + error;
            for (int p = 0; p < CGX_POWERS; p++)
                finding->seen[p] = weight;
        }
    }
    return cgx_adapt_step(adapt);
}

/* The widths that the segments come to have; the powers are over those of elements spread evenly.
 */
static struct cgx_adapt *choose_with(enum cgx_budget kind, double alpha, unsigned least,
                                     double inputs, double sum, double change)
{
    struct cgx_adapt *adapt = create();

    adapt->kind = kind;
    adapt->alpha = alpha;
    for (size_t i = 0; i < adapt->nlayers; i++)
        for (size_t s = 0; adapt->layers[i].plan && s < SEGMENTS; s++)
            adapt->layers[i].plan->segments[s].least = (uint8_t)least;
    for (unsigned i = 0; i < CGX_ADAPT_FIRST; i++)
        carry_out(adapt, step_with(adapt, various, inputs, sum, change));
    return adapt;
}

/* Error over the powers of all sums that are 1. */
static double error_over_power(const struct cgx_adapt *adapt)
{
    double error = 0, power = 0;

    for (size_t s = 0; s < SEGMENTS; s++) {
        error +=
            error_of(various[s], bits_in(adapt, 0, s)) + error_of(various[s], bits_in(adapt, 2, s));
        power += 2 * CGX_SEGMENT_ELEMENTS * various[s] * various[s] / 12;
    }
    return error / power;
}

static bool is_capped(const struct cgx_adapt *adapt, double sum)
{
    bool capped = true;

    for (size_t s = 0; s < SEGMENTS; s++) {
        double power = sum * CGX_SEGMENT_ELEMENTS * various[s] * various[s] / 12;
        unsigned bits = bits_at(adapt, s);

        capped = capped && (bits == 8 || error_of(various[s], bits) <= CGX_ADAPT_CAP * power);
    }
    return capped;
}

static void test_cap(void)
{
    /* Of elements spread evenly 1 bit has the error 1, 2 have 1/9, 3 have 1/49. */
    struct cgx_adapt *adapt = choose_with(CGX_BUDGET_ERROR, 1000, 1, 4, 1, 1);

    ok(bits_at(adapt, 3) == 2 && bits_at(adapt, 7) == 2 && is_capped(adapt, 1),
       "a budget of everything: widths of an error of half the power at most");
    cgx_adapt_free(adapt);
    adapt = choose_with(CGX_BUDGET_ERROR, 1, 1, 4, 0.05, 1);
    ok(bits_at(adapt, 7) == 3 && is_capped(adapt, 0.05), "ranks that cancel out need more bits");
    cgx_adapt_free(adapt);
    adapt = choose_with(CGX_BUDGET_ERROR, 1000, 1, 4, 1e-9, 1);
    ok(mean_bits(adapt) == 8, "sums of nothing but error have the most bits, and no more");
    cgx_adapt_free(adapt);
}

static void test_noise(void)
{
    /* N = 4/3 (inputs - sum / 4): 1, 0.1 and 4 times the power of the sum. */
    struct cgx_adapt *adapt = choose_with(CGX_BUDGET_NOISE, 0.05, 1, 1, 1, 5);
    double error = error_over_power(adapt), late;

    ok(fabs(cgx_adapt_noise(&adapt->layers[0]) - 1) < 1e-3, "the noise is that of the ranks");
    ok(error <= 0.95 * 0.06 && error > 0.03, "the error (%.4f) is within noise and floor", error);
    cgx_adapt_free(adapt);

    adapt = choose_with(CGX_BUDGET_NOISE, 0.05, 1, 0.325, 1, 5);
    ok(fabs(cgx_adapt_noise(&adapt->layers[0]) - 0.1) < 1e-3 &&
           error_over_power(adapt) <= 0.95 * 0.015,
       "ranks alike have little noise, and get a small error (%.4f)", error_over_power(adapt));
    cgx_adapt_free(adapt);

    adapt = choose_with(CGX_BUDGET_NOISE, 0.05, 1, 3.25, 1, 0.5);
    late = error_over_power(adapt);
    ok(late <= 0.95 * 0.035 && late > 0.015, "sums that hardly change bound the noise (%.4f)",
       late);
    cgx_adapt_free(adapt);

    adapt = choose_with(CGX_BUDGET_NOISE, 1e-9, 1, 1, 1, 0);
    error = error_over_power(adapt);
    ok(error <= 0.0095 && error > 0.004, "without noise a hundredth of the power is left (%.4f)",
       error);
    cgx_adapt_free(adapt);
}

static void test_noise_unknown(void)
{
    double unknown = NAN, error, budget;
    struct cgx_adapt *adapt = choose_with(CGX_BUDGET_NOISE, 0.05, 1, 1, 1, 1);
    double ranges[SEGMENTS];
    enum cgx_adapt_due due;

    memcpy(ranges, various, sizeof ranges);
    ranges[7] *= 500;
    due = step_with(adapt, ranges, 1, 1, 1);
    carry_out(adapt, due);
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(due == CGX_ADAPT_SCALED && error <= budget, "the guard holds to the noise as it has grown");
    ok(step_with(adapt, ranges, 1, 1, unknown) == CGX_ADAPT_MEASURED, "then it is measured");
    cgx_adapt_free(adapt);

    adapt = create();
    adapt->kind = CGX_BUDGET_NOISE;
    adapt->alpha = 0.05;
    steps(adapt, various, CGX_ADAPT_FIRST);
    ok(isnan(cgx_adapt_noise(&adapt->layers[0])) && relative_error(adapt, various) <= 1 &&
           mean_bits(adapt) < 4,
       "where powers are not known the error is that of the base width");
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
    test_cap();
    test_noise();
    test_noise_unknown();
    test_flutter();
    test_guard();
    test_zeros();
    test_nonfinite();
    test_out_of_reach();
    return done_testing();
}
