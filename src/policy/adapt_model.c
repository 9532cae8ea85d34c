/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/adapt_model.h"

#include <math.h>
#include <string.h>

#include "codec/encoding.h"

bool cgx_model_knows(const struct cgx_adapt_layer *layer, size_t segment)
{
    return cgx_model_is_variable(&layer->plan->segments[segment]) && !isnan(layer->scale[segment]);
}

unsigned cgx_model_base(const struct cgx_adapt *adapt, const struct cgx_segment *segment)
{
    return cgx_encoding_is_exact(adapt->base) ? segment->most : adapt->base;
}

/* ---- errors ---- */

double cgx_model_range(const struct cgx_adapt_layer *layer, size_t segment)
{
    const struct cgx_plan *plan = layer->plan;

    return layer->energies[segment] *
           cgx_encoding_range(plan->segments[segment].bits, plan->rounding);
}

double cgx_model_error(const struct cgx_adapt_layer *layer, size_t segment, unsigned bits)
{
    const struct cgx_plan *plan = layer->plan;

    if (!isnan(layer->known[segment][0]) && layer->reference[segment] > 0)
        return layer->known[segment][bits - 1] * layer->scale[segment];
    return layer->scale[segment] / cgx_encoding_range(bits, plan->rounding) *
           cgx_encoding_variance(plan->rounding);
}

/* ---- powers ---- */

/* As in KNOWN; NaN: not known. */
static double power_at(const struct cgx_adapt_layer *layer, size_t segment, enum cgx_power power)
{
    if (isnan(layer->known[segment][0]) || !(layer->reference[segment] > 0))
        return NAN;
    return layer->known[segment][CGX_WIDTHS + power] * layer->scale[segment];
}

unsigned cgx_model_least(const struct cgx_adapt_layer *layer, size_t segment)
{
    const struct cgx_segment *about = &layer->plan->segments[segment];
    double allowed = CGX_ADAPT_CAP * power_at(layer, segment, CGX_POWER_SUM);
    unsigned bits = about->least;

    /* A power that is not known forbids nothing. */
    while (bits < about->most && cgx_model_error(layer, segment, bits) > allowed)
        bits++;
    return bits;
}

/* The change, or where that is not known the noise, so that it does not bound it. */
static double change_at(const struct cgx_adapt_layer *layer, size_t segment)
{
    double change = power_at(layer, segment, CGX_POWER_CHANGE);

    return isnan(change) ? power_at(layer, segment, CGX_POWER_INPUTS) : change;
}

static bool knows_noise(const struct cgx_adapt_layer *layer, size_t segment)
{
    return cgx_model_knows(layer, segment) &&
           isfinite(power_at(layer, segment, CGX_POWER_INPUTS)) &&
           isfinite(power_at(layer, segment, CGX_POWER_SUM));
}

bool cgx_model_changes_less(const struct cgx_adapt *adapt)
{
    double noise = 0, change = 0;

    for (size_t i = 0; i < adapt->nlayers && adapt->kind == CGX_BUDGET_NOISE; i++) {
        const struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < layer->plan->nsegments; s++) {
            if (!knows_noise(layer, s))
                continue;
            noise += power_at(layer, s, CGX_POWER_INPUTS);
            change += change_at(layer, s);
        }
    }
    return change < noise;
}

double cgx_adapt_noise(const struct cgx_adapt_layer *layer)
{
    double noise = 0, power = 0;

    for (size_t s = 0; layer->plan && s < layer->plan->nsegments; s++) {
        if (!knows_noise(layer, s))
            continue;
        noise += power_at(layer, s, CGX_POWER_INPUTS);
        power += power_at(layer, s, CGX_POWER_SUM);
    }
    return power > 0 ? noise / power : NAN;
}

/* ---- budgets ---- */

double cgx_model_budget(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        size_t segment, bool changes_less)
{
    unsigned base = cgx_model_base(adapt, &layer->plan->segments[segment]);
    double noise;

    if (adapt->kind == CGX_BUDGET_ERROR)
        return adapt->alpha * cgx_model_error(layer, segment, base);
    if (!knows_noise(layer, segment))
        return cgx_model_error(layer, segment, base);
    noise = changes_less ? change_at(layer, segment) : power_at(layer, segment, CGX_POWER_INPUTS);
    return adapt->alpha * noise + CGX_ADAPT_FLOOR * power_at(layer, segment, CGX_POWER_SUM);
}

static void add_layer(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                      bool changes_less, double *error, double *budget)
{
    const struct cgx_plan *plan = layer->plan;

    for (size_t s = 0; plan && s < plan->nsegments; s++) {
        if (!cgx_model_knows(layer, s))
            continue;
        *error += cgx_model_error(layer, s, plan->segments[s].bits);
        *budget += cgx_model_budget(adapt, layer, s, changes_less);
    }
}

void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget)
{
    *error = *budget = 0;
    add_layer(adapt, layer, cgx_model_changes_less(adapt), error, budget);
}

double cgx_model_over(const struct cgx_adapt *adapt)
{
    bool changes_less = cgx_model_changes_less(adapt);
    double error = 0, budget = 0;

    for (size_t i = 0; i < adapt->nlayers; i++)
        add_layer(adapt, &adapt->layers[i], changes_less, &error, &budget);
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

static bool is_finite(const struct cgx_adapt_layer *layer, size_t segment)
{
    bool finite = layer->times[segment] > 0;

    for (unsigned w = 0; w < CGX_WIDTHS; w++)
        finite = finite && isfinite(layer->summed[segment][w]);
    return finite;
}

/* What is not known now is what it was. */
static void take_powers(struct cgx_adapt_layer *layer, size_t segment, double reference)
{
    double *known = layer->known[segment] + CGX_WIDTHS, powers[CGX_POWERS];
    double grown = layer->reference[segment] > 0 ? reference / layer->reference[segment] : NAN;
    unsigned bits = layer->plan->segments[segment].bits;

    for (int p = 0; p < CGX_POWERS; p++)
        powers[p] = layer->summed[segment][CGX_WIDTHS + p] / layer->times[segment];
    clean(powers, layer->summed[segment][bits - 1] / layer->times[segment], layer->addends);
    for (int p = 0; p < CGX_POWERS; p++)
        known[p] = isfinite(powers[p]) ? powers[p] : known[p] * grown;
}

void cgx_model_take(struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        double reference = layer->passed[i] / layer->times[i];

        if (!cgx_model_is_variable(&layer->plan->segments[i]) || !is_finite(layer, i))
            continue;
        take_powers(layer, i, reference);
        for (unsigned w = 0; w < CGX_WIDTHS; w++)
            layer->known[i][w] = layer->summed[i][w] / layer->times[i];
        layer->reference[i] = reference;
        layer->scale[i] = reference > 0 ? 1 : 0;
    }
}
