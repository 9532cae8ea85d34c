/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/widths/adapt_account.h"

#include <math.h>

#include "policy/widths/adapt_model.h"

/* ---- steps ---- */

static void add_shares(struct cgx_adapt *adapt, double budget)
{
    unsigned steps = ++adapt->seen < CGX_ADAPT_MEAN ? adapt->seen : CGX_ADAPT_MEAN;

    for (size_t i = 0; i < adapt->nsegments; i++) {
        struct cgx_adapt_segment *segment = &adapt->segments[i];

        if (cgx_segment_is_chosen(segment->about))
            segment->share += (segment->latest / budget - segment->share) / steps;
    }
}

void cgx_account_step(struct cgx_adapt *adapt)
{
    const struct cgx_adapt_layer all = {.segments = adapt->segments, .nsegments = adapt->nsegments};
    double error, budget;

    adapt->over = NAN;
    cgx_model_estimate(adapt, &all, &error, &budget);
    if (!(budget > 0) || !isfinite(budget) || !isfinite(error))
        return;
    add_shares(adapt, budget);
    /* The correction applies to other than base widths. */
    adapt->over = error / budget / (adapt->widened ? adapt->correction : 1);
    adapt->account += adapt->over - 1;
    if (adapt->account < 0)
        adapt->account = 0;
    adapt->quiet += adapt->widened;
    if (adapt->quiet >= adapt->period)
        adapt->wait = CGX_ADAPT_LEAST;
}

bool cgx_account_is_exceeded(const struct cgx_adapt *adapt)
{
    return adapt->widened && adapt->account > CGX_ADAPT_ACCOUNT;
}

/* ---- when widths are chosen ---- */

unsigned cgx_account_fall(struct cgx_adapt *adapt)
{
    unsigned wait = adapt->wait, most = adapt->period;

    if (most < CGX_ADAPT_LEAST)
        most = CGX_ADAPT_LEAST;
    adapt->wait = 2 * wait < most ? 2 * wait : most;
    adapt->seen = adapt->quiet = 0;
    adapt->account = 0;
    return wait;
}

unsigned cgx_account_next(const struct cgx_adapt *adapt)
{
    if (!adapt->has_widths)
        return adapt->period;
    if (adapt->seen < CGX_ADAPT_LEAST)
        return CGX_ADAPT_LEAST - adapt->seen;
    /* Whenever the number of averaged steps has doubled, a new choice is worthwhile. */
    return adapt->seen < CGX_ADAPT_MEAN && adapt->seen < adapt->period ? adapt->seen
                                                                       : adapt->period;
}

bool cgx_account_falls_back(const struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    return due == CGX_ADAPT_SCALED || adapt->seen < CGX_ADAPT_LEAST;
}

/* ---- choices ---- */

/* Sets the scales of segments to those of the mean step. */
static void smooth(struct cgx_adapt *adapt)
{
    double energy = 0, shares = 0;

    for (size_t i = 0; i < adapt->nsegments; i++) {
        const struct cgx_adapt_segment *segment = &adapt->segments[i];

        if (cgx_model_knows(segment)) {
            energy += segment->latest;
            shares += segment->share;
        }
    }
    for (size_t i = 0; i < adapt->nsegments && shares > 0 && energy > 0; i++) {
        struct cgx_adapt_segment *segment = &adapt->segments[i];
        double mean = segment->share / shares * energy;

        if (cgx_model_knows(segment))
            segment->scale = segment->reference > 0 ? mean / segment->reference : mean;
    }
}

void cgx_account_learn(struct cgx_adapt *adapt)
{
    if (adapt->learnt)
        return;
    cgx_model_take(adapt);
    smooth(adapt);
    adapt->learnt = true;
}

static bool is_widened(const struct cgx_adapt *adapt)
{
    for (size_t i = 0; i < adapt->nsegments; i++) {
        const struct cgx_adapt_segment *segment = &adapt->segments[i];

        if (cgx_model_knows(segment) && cgx_segment_has_widths(segment->about) &&
            cgx_segment_encoding(segment->about) != cgx_model_base(adapt, segment))
            return true;
    }
    return false;
}

void cgx_account_chosen(struct cgx_adapt *adapt, enum cgx_adapt_due due, bool changed)
{
    adapt->learnt = false;
    if (changed)
        adapt->account = 0;
    adapt->widened = !cgx_account_falls_back(adapt, due) && is_widened(adapt);
    for (size_t i = 0; i < adapt->nsegments && adapt->widened; i++)
        adapt->segments[i].tried = (uint8_t)cgx_segment_encoding(adapt->segments[i].about);
}
