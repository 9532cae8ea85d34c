/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the powers of sums do to the choice of widths: the cap, and budgets of noise. */
#include "lib/tap.h"
#include "unit/adapt_steps.h"

/* A step of one in which the sums of all segments have these powers over that of elements spread
 * evenly; at the base width payloads have their errors in them. */
static enum cgx_adapt_due step_with(const double *ranges, double inputs, double sum, double change)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        layer->contributions = 4;
        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            struct cgx_finding *finding = &layer->findings[s];
            double weight = CGX_SEGMENT_ELEMENTS * ranges[s] * ranges[s];
            double error = error_of(ranges[s], layer->plan->segments[s].bits);
            double part = inputs / (inputs * 3 / 4 + sum);

            layer->energies[s] = 12 * error;
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
static void choose_with(enum cgx_budget kind, double alpha, unsigned least, double inputs,
                        double sum, double change)
{
    begin();
    adapt->kind = kind;
    adapt->alpha = alpha;
    for (size_t i = 0; i < adapt->nlayers; i++)
        for (size_t s = 0; adapt->layers[i].plan && s < SEGMENTS; s++)
            adapt->layers[i].plan->segments[s].least = (uint8_t)least;
    for (unsigned i = 0; i < CGX_ADAPT_FIRST; i++)
        carry_out(step_with(various, inputs, sum, change));
}

/* Error over the powers of all sums that are 1. */
static double error_over_power(void)
{
    double error = 0, power = 0;

    for (size_t s = 0; s < SEGMENTS; s++) {
        error += error_of(various[s], bits_in(0, s)) + error_of(various[s], bits_in(2, s));
        power += 2 * CGX_SEGMENT_ELEMENTS * various[s] * various[s] / 12;
    }
    return error / power;
}

static bool is_capped(double sum)
{
    bool capped = true;

    for (size_t s = 0; s < SEGMENTS; s++) {
        double power = sum * CGX_SEGMENT_ELEMENTS * various[s] * various[s] / 12;
        unsigned bits = bits_at(s);

        capped = capped && (bits == 8 || error_of(various[s], bits) <= CGX_ADAPT_CAP * power);
    }
    return capped;
}

static void test_cap(void)
{
    /* Of elements spread evenly 1 bit has the error 1, 2 have 1/9, 3 have 1/49. */
    choose_with(CGX_BUDGET_ERROR, 1000, 1, 4, 1, 1);
    ok(bits_at(3) == 2 && bits_at(7) == 2 && is_capped(1),
       "a budget of everything: widths of an error of half the power at most");
    choose_with(CGX_BUDGET_ERROR, 1, 1, 4, 0.05, 1);
    ok(bits_at(7) == 3 && is_capped(0.05), "ranks that cancel out need more bits");
    choose_with(CGX_BUDGET_ERROR, 1000, 1, 4, 1e-9, 1);
    ok(mean_bits() == 8, "sums of nothing but error have the most bits, and no more");
}

static void test_noise(void)
{
    double error;

    /* N = 4/3 (inputs - sum / 4): 1, 0.1 and 4 times the power of the sum. */
    choose_with(CGX_BUDGET_NOISE, 0.05, 1, 1, 1, 5);
    error = error_over_power();
    ok(fabs(cgx_adapt_noise(&adapt->layers[0]) - 1) < 1e-3, "the noise is that of the ranks");
    ok(error <= 0.95 * 0.06 && error > 0.03, "the error (%.4f) is within noise and floor", error);

    choose_with(CGX_BUDGET_NOISE, 0.05, 1, 0.325, 1, 5);
    ok(fabs(cgx_adapt_noise(&adapt->layers[0]) - 0.1) < 1e-3 && error_over_power() <= 0.95 * 0.015,
       "ranks alike have little noise, and get a small error (%.4f)", error_over_power());

    choose_with(CGX_BUDGET_NOISE, 0.05, 1, 3.25, 1, 0.5);
    error = error_over_power();
    ok(error <= 0.95 * 0.035 && error > 0.015, "sums that hardly change bound the noise (%.4f)",
       error);

    choose_with(CGX_BUDGET_NOISE, 1e-9, 1, 1, 1, 0);
    error = error_over_power();
    ok(error <= 0.0095 && error > 0.004, "without noise a hundredth of the power is left (%.4f)",
       error);
}

static void test_noise_unknown(void)
{
    double unknown = NAN, error, budget;
    double ranges[SEGMENTS];
    enum cgx_adapt_due due;

    choose_with(CGX_BUDGET_NOISE, 0.05, 1, 1, 1, 1);
    memcpy(ranges, various, sizeof ranges);
    ranges[7] *= 500;
    due = step_with(ranges, 1, 1, 1);
    carry_out(due);
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(due == CGX_ADAPT_SCALED && error <= budget, "the guard holds to the noise as it has grown");
    ok(step_with(ranges, 1, 1, unknown) == CGX_ADAPT_MEASURED, "then it is measured");

    begin();
    adapt->kind = CGX_BUDGET_NOISE;
    adapt->alpha = 0.05;
    steps(various, CGX_ADAPT_FIRST);
    ok(isnan(cgx_adapt_noise(&adapt->layers[0])) && relative_error(various) <= 1 && mean_bits() < 4,
       "where powers are not known the error is that of the base width");
}

int main(void)
{
    test_cap();
    test_noise();
    test_noise_unknown();
    cgx_adapt_free(adapt);
    return done_testing();
}
