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

/* One step in which segment S of each buffer has the range RANGES[S]. */
static enum cgx_adapt_due step(struct cgx_adapt *adapt, const double *ranges)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            layer->spreads[s] = 12 * error_of(ranges[s], layer->plan->segments[s].bits);
            for (unsigned bits = 1; bits <= CGX_WIDTHS && cgx_adapt_measures(adapt); bits++)
                layer->measured[s][bits - 1] = error_of(ranges[s], bits);
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
    bool quiet = true, measured;

    quiet = !cgx_adapt_measures(adapt) && step(adapt, various) == CGX_ADAPT_NOTHING;
    quiet = quiet && !cgx_adapt_measures(adapt) && step(adapt, various) == CGX_ADAPT_NOTHING;
    measured = cgx_adapt_measures(adapt);
    ok(quiet && measured, "the third step is the first that is measured");
    ok(step(adapt, various) == CGX_ADAPT_MEASURED, "after it widths are chosen");
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
    unsigned quiet = 0;

    steps(adapt, various, CGX_ADAPT_FIRST);
    while (quiet < 2 * PERIOD && !cgx_adapt_measures(adapt))
        quiet += step(adapt, various) == CGX_ADAPT_NOTHING;
    ok(quiet == PERIOD - 1, "the last step of a period is measured, and none before");
    ok(step(adapt, various) == CGX_ADAPT_MEASURED, "and its end chooses");
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

int main(void)
{
    test_first();
    test_alike();
    test_period();
    test_flutter();
    test_guard();
    test_zeros();
    test_nonfinite();
    test_out_of_reach();
    return done_testing();
}
