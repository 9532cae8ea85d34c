/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the powers of sums do to the choice of widths: the cap. */
#include "lib/tap.h"
#include "unit/lib/adapt_steps.h"

/* A step in which the sums of all segments have the power SUM, over that of elements spread evenly;
 * at the base width payloads have their errors in them. */
static enum cgx_adapt_due step_with(const double *ranges, double sum)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            struct cgx_finding *finding = &layer->findings[s];
            double weight = CGX_SEGMENT_ELEMENTS * ranges[s] * ranges[s];
            double error = error_of(ranges[s], layer->plan->segments[s].bits);

            layer->energies[s] = 12 * error;
            if (!cgx_adapt_measures(adapt))
                continue;
            *finding = finding_of(ranges[s]);
            finding->second_moment = sum * weight / 12 + error;
            finding->sampled = weight;
        }
    }
    return cgx_adapt_step(adapt);
}

/* The widths that the segments come to have. */
static void choose_with(double alpha, double sum)
{
    begin();
    adapt->alpha = alpha;
    for (size_t i = 0; i < adapt->nlayers; i++)
        for (size_t s = 0; adapt->layers[i].plan && s < SEGMENTS; s++)
            adapt->layers[i].plan->segments[s].least = 1;
    for (unsigned i = 0; i < STEPS_AT_BASE; i++)
        carry_out(step_with(various, sum));
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
    choose_with(1000, 1);
    ok(bits_at(3) == 2 && bits_at(7) == 2 && is_capped(1),
       "a budget of everything: widths of an error of half the power at most");
    choose_with(1, 0.05);
    ok(bits_at(7) == 3 && is_capped(0.05), "ranks that cancel out need more bits");
    choose_with(1000, 1e-9);
    ok(mean_bits() == adapt->base, "sums of nothing but error have the base width, and no more");
}

int main(void)
{
    test_cap();
    cgx_adapt_free(adapt);
    return done_testing();
}
