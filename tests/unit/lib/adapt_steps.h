/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Steps of made-up data for policy/widths/adapt.h, which lacks nothing of the messages of other
 * ranks: there is one. The data is a model: elements spread evenly, so that n u^2 / 12 is their
 * error. */
#ifndef CGX_TESTS_ADAPT_STEPS_H
#define CGX_TESTS_ADAPT_STEPS_H

#include <math.h>
#include <string.h>

#include "policy/widths/adapt.h"

/* Steps up to the first choice of other than base widths. */
enum { SEGMENTS = 8, LAYERS = 2, PERIOD = 10, STEPS_AT_BASE = CGX_ADAPT_LEAST };

static const struct cgx_settings settings = {.bits = 4,
                                             .bucket_size = 512,
                                             .adaptive = true,
                                             .adaptive_bits = 3u << 16 | 8u,
                                             .adaptive_period = PERIOD,
                                             .adaptive_budget = 1.0};

static struct cgx_adapt *adapt; /* of the test that runs */

/* A new one takes its place: two buffers with a call of fixed width between them. */
static inline void begin(void)
{
    const size_t count = (size_t)SEGMENTS * CGX_SEGMENT_ELEMENTS;
    const struct cgx_override override = {.least = 6, .most = 6};
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, count);
    struct cgx_plan *fixed = cgx_plan_create(&settings, &override, CGX_FLOAT32, count);
    const struct cgx_plan *plans[] = {plan, fixed, plan};

    cgx_adapt_free(adapt);
    adapt = cgx_adapt_create(&settings, plans, 3);
    cgx_plan_free(plan);
    cgx_plan_free(fixed);
}

static inline double error_of(double range, unsigned bits)
{
    double steps = (double)((1u << bits) - 1);

    return CGX_SEGMENT_ELEMENTS * range * range / (steps * steps) / 12;
}

/* Of everything: both weights are equal, and powers those of elements spread evenly about 0. */
static inline struct cgx_finding finding_of(double range)
{
    double weight = CGX_SEGMENT_ELEMENTS * range * range;
    struct cgx_finding finding = {.weights = {weight}, .quantised = weight, .owned = weight};

    for (unsigned bits = 1; bits <= CGX_WIDTHS; bits++)
        finding.errors[bits - 1] = error_of(range, bits);
    finding.second_moment = weight / 12;
    finding.sampled = weight;
    return finding;
}

/* One step in which segment S of each buffer has the range RANGES[S]. */
static inline enum cgx_adapt_due step(const double *ranges)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < SEGMENTS; s++) {
            layer->energies[s] = 12 * error_of(ranges[s], layer->plan->segments[s].bits);
            if (cgx_adapt_measures(adapt))
                layer->findings[s] = finding_of(ranges[s]);
        }
    }
    return cgx_adapt_step(adapt);
}

/* What ranks do then, of which there is one. */
static inline void carry_out(enum cgx_adapt_due due)
{
    if (due == CGX_ADAPT_NOTHING)
        return;
    memcpy(adapt->summed, adapt->measured, adapt->nsegments * sizeof adapt->measured[0]);
    cgx_adapt_choose(adapt, due);
    cgx_adapt_take(adapt, due);
}

static inline void steps(const double *ranges, unsigned count)
{
    while (count-- > 0)
        carry_out(step(ranges));
}

static inline unsigned bits_in(size_t layer, size_t segment)
{
    return adapt->layers[layer].plan->segments[segment].bits;
}

static inline unsigned bits_at(size_t segment)
{
    return bits_in(0, segment);
}

/* Error over that of the base width. */
static inline double relative_error(const double *ranges)
{
    double now = 0, base = 0;

    for (size_t s = 0; s < SEGMENTS; s++) {
        now += error_of(ranges[s], bits_in(0, s)) + error_of(ranges[s], bits_in(2, s));
        base += 2 * error_of(ranges[s], 4);
    }
    return now / base;
}

static inline double mean_bits(void)
{
    unsigned sum = 0;

    for (size_t s = 0; s < SEGMENTS; s++)
        sum += bits_in(0, s) + bits_in(2, s);
    return (double)sum / (2 * SEGMENTS);
}

static const double various[SEGMENTS] = {1, 0.2, 0.1, 2, 0.02, 0.5, 1, 0.01};

#endif
