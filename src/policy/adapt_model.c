/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/adapt_model.h"

#include <math.h>

#include "codec/encoding.h"

bool cgx_model_knows(const struct cgx_adapt_segment *segment)
{
    return cgx_segment_is_variable(segment->about) && !isnan(segment->scale);
}

unsigned cgx_model_base(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment)
{
    return cgx_encoding_is_exact(adapt->base) ? segment->about->most : adapt->base;
}

/* Whether something was measured that can be scaled. */
static bool is_measured(const struct cgx_adapt_segment *segment)
{
    return !isnan(segment->known[0]) && segment->reference > 0;
}

/* ---- errors ---- */

double cgx_model_range(const struct cgx_adapt_segment *segment, double energy)
{
    return energy * cgx_encoding_range(segment->about->bits, segment->plan->rounding);
}

double cgx_model_error(const struct cgx_adapt_segment *segment, unsigned bits)
{
    enum cgx_rounding rounding = segment->plan->rounding;

    if (is_measured(segment))
        return segment->known[bits - 1] * segment->scale;
    return segment->scale / cgx_encoding_range(bits, rounding) * cgx_encoding_variance(rounding);
}

/* ---- powers ---- */

/* As in KNOWN; NaN: not known. */
static double power_of(const struct cgx_adapt_segment *segment, enum cgx_power power)
{
    return is_measured(segment) ? segment->known[CGX_WIDTHS + power] * segment->scale : NAN;
}

unsigned cgx_model_least(const struct cgx_adapt_segment *segment)
{
    double allowed = CGX_ADAPT_CAP * power_of(segment, CGX_POWER_SUM);
    unsigned bits = segment->about->least;

    /* A power that is not known forbids nothing. */
    while (bits < segment->about->most && cgx_model_error(segment, bits) > allowed)
        bits++;
    return bits;
}

/* The change, or where that is not known the noise, so that it does not bound it. */
static double change_of(const struct cgx_adapt_segment *segment)
{
    double change = power_of(segment, CGX_POWER_CHANGE);

    return isnan(change) ? power_of(segment, CGX_POWER_INPUTS) : change;
}

static bool knows_noise(const struct cgx_adapt_segment *segment)
{
    return cgx_model_knows(segment) && isfinite(power_of(segment, CGX_POWER_INPUTS)) &&
           isfinite(power_of(segment, CGX_POWER_SUM));
}

bool cgx_model_changes_less(const struct cgx_adapt *adapt)
{
    double noise = 0, change = 0;

    for (size_t i = 0; i < adapt->nsegments && adapt->kind == CGX_BUDGET_NOISE; i++) {
        if (!knows_noise(&adapt->segments[i]))
            continue;
        noise += power_of(&adapt->segments[i], CGX_POWER_INPUTS);
        change += change_of(&adapt->segments[i]);
    }
    return change < noise;
}

double cgx_adapt_noise(const struct cgx_adapt_layer *layer)
{
    double noise = 0, power = 0;

    for (size_t i = 0; i < layer->nsegments; i++) {
        if (!knows_noise(&layer->segments[i]))
            continue;
        noise += power_of(&layer->segments[i], CGX_POWER_INPUTS);
        power += power_of(&layer->segments[i], CGX_POWER_SUM);
    }
    return power > 0 ? noise / power : NAN;
}

/* ---- budgets ---- */

double cgx_model_budget(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment,
                        bool changes_less)
{
    double error = cgx_model_error(segment, cgx_model_base(adapt, segment)), noise;

    if (adapt->kind == CGX_BUDGET_ERROR)
        return adapt->alpha * error;
    if (!knows_noise(segment))
        return error;
    noise = changes_less ? change_of(segment) : power_of(segment, CGX_POWER_INPUTS);
    return adapt->alpha * noise + CGX_ADAPT_FLOOR * power_of(segment, CGX_POWER_SUM);
}

static void estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segments,
                     size_t nsegments, double *error, double *budget)
{
    bool changes_less = cgx_model_changes_less(adapt);

    *error = *budget = 0;
    for (size_t i = 0; i < nsegments; i++) {
        if (!cgx_model_knows(&segments[i]))
            continue;
        *error += cgx_model_error(&segments[i], segments[i].about->bits);
        *budget += cgx_model_budget(adapt, &segments[i], changes_less);
    }
}

void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget)
{
    estimate(adapt, layer->segments, layer->nsegments, error, budget);
}

double cgx_model_over(const struct cgx_adapt *adapt)
{
    double error, budget;

    estimate(adapt, adapt->segments, adapt->nsegments, &error, &budget);
    return error > 0 ? error / budget : 0;
}

/* ---- what was measured ---- */

static double positive(double value)
{
    return value < 0 ? 0 : value; /* NaN stays */
}

/* Takes the error of what was sent, ERROR, out of POWERS. It is independent of what it was made of,
 * or nearly so, and goes as the powers do: the sum has all of it. The owner's contribution was not
 * quantised, but those of others stand for it. */
static void clean(double powers[CGX_POWERS], double error, unsigned addends)
{
    double inputs = powers[CGX_POWER_INPUTS], sum = powers[CGX_POWER_SUM], part;

    powers[CGX_POWER_SUM] = positive(sum - error);
    powers[CGX_POWER_CHANGE] = positive(powers[CGX_POWER_CHANGE] - error);
    if (addends < 2) {
        powers[CGX_POWER_INPUTS] = NAN;
        return;
    }
    part = inputs * (addends - 1) / addends + sum;
    part = part > 0 ? inputs / part : part;
    inputs = positive(inputs - part * error);
    powers[CGX_POWER_INPUTS] =
        positive(inputs - powers[CGX_POWER_SUM] / addends) * addends / (addends - 1);
}

/* Takes the powers in the ROW of all ranks, and the mean energy of its steps. What is not known now
 * is what it was. */
static void take_powers(struct cgx_adapt_segment *segment, const double row[CGX_ADAPT_ROW],
                        unsigned addends, double reference)
{
    double *known = segment->known + CGX_WIDTHS, powers[CGX_POWERS];
    double grown = segment->reference > 0 ? reference / segment->reference : NAN;

    for (int p = 0; p < CGX_POWERS; p++)
        powers[p] = row[CGX_WIDTHS + p] / segment->times;
    clean(powers, row[segment->about->bits - 1] / segment->times, addends);
    for (int p = 0; p < CGX_POWERS; p++)
        known[p] = isfinite(powers[p]) ? powers[p] : known[p] * grown;
}

static void take(struct cgx_adapt_segment *segment, const double row[CGX_ADAPT_ROW],
                 unsigned addends)
{
    double reference = segment->passed / segment->times;
    bool finite = segment->times > 0;

    for (unsigned w = 0; w < CGX_WIDTHS; w++)
        finite = finite && isfinite(row[w]);
    if (!cgx_segment_is_variable(segment->about) || !finite)
        return;
    take_powers(segment, row, addends, reference);
    for (unsigned w = 0; w < CGX_WIDTHS; w++)
        segment->known[w] = row[w] / segment->times;
    segment->reference = reference;
    segment->scale = reference > 0 ? 1 : 0;
}

void cgx_model_take(struct cgx_adapt *adapt)
{
    double(*row)[CGX_ADAPT_ROW] = adapt->summed;

    for (size_t i = 0; i < adapt->nlayers; i++)
        for (size_t s = 0; s < adapt->layers[i].nsegments; s++)
            take(&adapt->layers[i].segments[s], *row++, adapt->layers[i].addends);
}
