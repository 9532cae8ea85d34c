/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What guards the choice of widths: means of shares, the account, and what was measured. */
#include "lib/tap.h"
#include "unit/lib/adapt_steps.h"
#include "unit/lib/codec_data.h"

static double scratch[SEGMENTS];

/* RANGES, with that of segment INDEX, and all, multiplied. */
static const double *scaled(const double *ranges, size_t index, double one, double all)
{
    for (size_t s = 0; s < SEGMENTS; s++)
        scratch[s] = ranges[s] * all * (s == index ? one : 1);
    return scratch;
}

/* Takes steps up to the next choice; returns how many, and what it was for. */
static unsigned steps_to_choice(const double *ranges, enum cgx_adapt_due *due)
{
    unsigned count = 0;

    do {
        *due = step(ranges);
        carry_out(*due);
        count++;
    } while (*due == CGX_ADAPT_NOTHING && count < 1000);
    return count;
}

/* ---- the account ---- */

static void test_guard(void)
{
    enum cgx_adapt_due due;

    begin();
    adapt->period = 100;
    steps(various, STEPS_AT_BASE);
    ok(step(scaled(various, 0, 1, 500)) == CGX_ADAPT_NOTHING && adapt->over < 1,
       "when all segments grow alike nothing is to do");
    ok(steps_to_choice(scaled(various, 7, 500, 1), &due) == 2 && due == CGX_ADAPT_SCALED &&
           adapt->over > 3,
       "a segment that grows exhausts the account");
    ok(mean_bits() == 4 && relative_error(scratch) == 1, "then all have the base width");
    ok(step(scaled(various, 7, 500, 1)) == CGX_ADAPT_NOTHING && adapt->over == 1,
       "whose error is the budget");
    steps(scaled(various, 7, 500, 1), CGX_ADAPT_LEAST - 2);
    ok(mean_bits() == 4, "up to %u steps later", CGX_ADAPT_LEAST);
    steps(scaled(various, 7, 500, 1), 1);
    ok(mean_bits() < 4 && relative_error(scratch) <= 1, "when widths for the new steps are chosen");
}

/* Between two choices the excess is at most what the account may come to, and one step's. */
static void test_excess(void)
{
    double sum = 0;
    enum cgx_adapt_due due = CGX_ADAPT_NOTHING;
    unsigned count = 0;

    begin();
    adapt->period = 1000;
    steps(various, CGX_ADAPT_MEAN);
    /* Errors are a bit more than in the steps before. */
    while (due == CGX_ADAPT_NOTHING && count < 500) {
        due = step(scaled(various, 5, 1.6, 1));
        sum += adapt->over - 1;
        count++;
    }
    diag("%.3f of the budget, %u steps", adapt->over, count);
    ok(due == CGX_ADAPT_SCALED && adapt->over > 1 && adapt->over < 1.5 && count > 6 &&
           sum > CGX_ADAPT_ACCOUNT && sum <= CGX_ADAPT_ACCOUNT + adapt->over - 1,
       "a small excess is borne for so long, and no longer");
    begin();
    adapt->period = 1000;
    steps(various, CGX_ADAPT_MEAN);
    for (count = 0; count < 300; count++)
        carry_out(step(count % 4 ? various : scaled(various, 5, 1.6, 1)));
    ok(adapt->choices == 4, "not one that other steps make up for");
}

static void test_wait(void)
{
    static const unsigned waits[] = {16, 32, 64, 100, 100};
    enum cgx_adapt_due due;
    bool right = true;

    begin();
    adapt->period = 100;
    steps(various, STEPS_AT_BASE);
    for (size_t i = 0; i < 5; i++) {
        const double *grown = scaled(various, i % 2 ? 3 : 7, i % 2 ? 1 : 500, 1);

        right = right && steps_to_choice(grown, &due) < 10 && due == CGX_ADAPT_SCALED;
        right = right && steps_to_choice(grown, &due) == waits[i] && due == CGX_ADAPT_MEASURED;
        ok(right && mean_bits() < 4, "return number %zu to base widths is for %u steps", i + 1,
           waits[i]);
    }
    steps(scratch, 120);
    right = steps_to_choice(scaled(various, 3, 1, 1), &due) < 10 && due == CGX_ADAPT_SCALED;
    ok(right && steps_to_choice(scratch, &due) == 16,
       "after a period without any it is for 16 again");
}

/* ---- means ---- */

/* Powers that vary from step to step, and not between segments in the mean. */
static void test_scatter(void)
{
    uint64_t state = 1;
    double sum = 0, most = 0;
    unsigned count = 400;

    begin();
    adapt->period = 100;
    for (unsigned i = 0; i < count; i++) {
        double ranges[SEGMENTS];
        enum cgx_adapt_due due;

        for (size_t s = 0; s < SEGMENTS; s++)
            ranges[s] = exp(0.575 * data_gaussian(&state));
        sum += relative_error(ranges) / count;
        due = step(ranges);
        most += mean_bits() / count;
        carry_out(due);
    }
    diag("error %.3f of the budget at %.2f bits", sum, most);
    ok(sum < 1.02, "segments that vary by themselves have the error of the base width in the mean");
}

/* A step of large values counts like another, so that a plan is not that of one step. */
static void test_outlier(void)
{
    unsigned before[SEGMENTS];
    bool same = true;

    begin();
    steps(various, STEPS_AT_BASE + PERIOD - 1);
    for (size_t s = 0; s < SEGMENTS; s++)
        before[s] = bits_at(s);
    steps(scaled(various, 5, 1.5, 1000), 1);
    for (size_t s = 0; s < SEGMENTS; s++)
        same = same && bits_at(s) == before[s];
    ok(adapt->choices == 3 && same, "one step of large values does not change widths");
}

/* ---- what was measured ---- */

/* A step in which errors below the base width are FACTOR times what energies say. */
static enum cgx_adapt_due step_off(double factor)
{
    enum cgx_adapt_due due;

    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            layer->energies[s] = 12 * error_of(various[s], layer->plan->segments[s].bits);
            layer->findings[s] = finding_of(various[s]);
            for (unsigned w = 0; w < 3; w++)
                layer->findings[s].errors[w] *= factor;
        }
    }
    due = cgx_adapt_step(adapt);
    carry_out(due);
    return due;
}

static double part_below_base(void)
{
    double below = 0, all = 0;

    for (size_t s = 0; s < 2 * SEGMENTS; s++) {
        unsigned bits = bits_in(s < SEGMENTS ? 0 : 2, s % SEGMENTS);
        double error = error_of(various[s % SEGMENTS], bits);

        all += error;
        below += bits < 4 ? error : 0;
    }
    return below / all;
}

static void test_correction(void)
{
    double part, expected;
    unsigned count = 0;

    begin();
    adapt->period = 1000;
    steps(various, 40);
    ok(adapt->correction == 1, "where errors are as predicted budgets are as they are");
    adapt->left = adapt->window = 1;
    part = part_below_base();
    expected = 1 / (1 + part);
    step_off(2);
    ok(part > 0.1 && fabs(adapt->correction / expected - 1) < 1e-9,
       "where more was measured the budget is multiplied by predicted over measured");
    ok(part_below_base() < part, "so that fewer segments have few bits");
    begin();
    adapt->period = 1000;
    steps(various, 40);
    adapt->left = adapt->window = 1;
    step_off(0.5);
    ok(adapt->correction == 1, "where less was measured it stays as it is");
    begin();
    adapt->period = 1000;
    steps(various, CGX_ADAPT_MEAN);
    adapt->correction = 0.8;
    while (count < 100 && step_off(1) == CGX_ADAPT_NOTHING)
        count++;
    ok(mean_bits() == 4 && count < 30 && adapt->correction == 0.8,
       "the account is of corrected errors (%u steps)", count);
    while (count < 200 && step_off(1) == CGX_ADAPT_NOTHING)
        count++;
    ok(adapt->correction == 1, "and errors are compared at the base width too");
}

int main(void)
{
    test_guard();
    test_excess();
    test_wait();
    test_scatter();
    test_outlier();
    test_correction();
    cgx_adapt_free(adapt);
    return done_testing();
}
