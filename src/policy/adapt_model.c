/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/adapt_model.h"

#include <math.h>
#include <stdlib.h>

#include "codec/encoding.h"
#include "policy/allocate.h"

/* Whether anything is known of SEGMENT, whose width can change. */
static bool is_known(const struct cgx_adapt_segment *segment)
{
    return cgx_segment_is_variable(segment->about) && !isnan(segment->scale);
}

/* The width of its family that the error of SEGMENT is compared with. */
static unsigned base_of(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment)
{
    bool is_rotated = segment->about->family == CGX_FAMILY_ROTATED;

    if (cgx_encoding_is_exact(adapt->base) || (is_rotated && adapt->base > CGX_ROTATED_WIDTHS))
        return segment->about->most;
    return adapt->base;
}

/* Whether something was measured that can be scaled. */
static bool is_measured(const struct cgx_adapt_segment *segment)
{
    return !isnan(segment->known[0]) && segment->reference > 0;
}

/* ---- errors ---- */

double cgx_model_range(const struct cgx_adapt_segment *segment, double energy)
{
    return energy *
           cgx_encoding_range(cgx_segment_encoding(segment->about), segment->plan->rounding);
}

/* The error of SEGMENT at BITS. Where nothing was measured that could be scaled, of elements spread
 * evenly between the levels: n u^2 / 12, or twice that. */
static double error_of(const struct cgx_adapt_segment *segment, unsigned bits)
{
    enum cgx_rounding rounding = segment->plan->rounding;
    unsigned encoding = cgx_encoding_of((enum cgx_family)segment->about->family, bits);

    if (is_measured(segment))
        return segment->known[bits - 1] * segment->scale;
    return segment->scale / cgx_encoding_range(encoding, rounding) *
           cgx_encoding_variance(encoding, rounding);
}

/* ---- powers ---- */

/* As in KNOWN; NaN: not known. */
static double power_of(const struct cgx_adapt_segment *segment, enum cgx_power power)
{
    return is_measured(segment) ? segment->known[CGX_WIDTHS + power] * segment->scale : NAN;
}

/* The least width of SEGMENT that the cap allows. */
static unsigned least_of(const struct cgx_adapt_segment *segment)
{
    double allowed = CGX_ADAPT_CAP * power_of(segment, CGX_POWER_SUM);
    unsigned bits = segment->about->least;

    /* A power that is not known forbids nothing. */
    while (bits < segment->about->most && error_of(segment, bits) > allowed)
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
    return is_known(segment) && isfinite(power_of(segment, CGX_POWER_INPUTS)) &&
           isfinite(power_of(segment, CGX_POWER_SUM));
}

/* Whether all layers' change is less than their noise. */
static bool changes_less_than_noise(const struct cgx_adapt *adapt)
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

struct cgx_adapt_powers cgx_adapt_powers(const struct cgx_adapt_layer *layer)
{
    struct cgx_adapt_powers powers = {0, 0, 0};

    for (size_t i = 0; i < layer->nsegments; i++) {
        const struct cgx_adapt_segment *segment = &layer->segments[i];

        if (!knows_noise(segment))
            continue;
        powers.error += error_of(segment, segment->about->bits);
        powers.noise += power_of(segment, CGX_POWER_INPUTS);
        powers.power += power_of(segment, CGX_POWER_SUM);
    }
    return powers;
}

double cgx_adapt_noise(const struct cgx_adapt_layer *layer)
{
    struct cgx_adapt_powers powers = cgx_adapt_powers(layer);

    return powers.power > 0 ? powers.noise / powers.power : NAN;
}

/* ---- budgets ---- */

/* What SEGMENT adds to the budget. */
static double budget_of(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment,
                        bool changes_less)
{
    double error = error_of(segment, base_of(adapt, segment)), noise;

    if (adapt->kind == CGX_BUDGET_ERROR)
        return adapt->alpha * error;
    if (!knows_noise(segment))
        return error;
    noise = changes_less ? change_of(segment) : power_of(segment, CGX_POWER_INPUTS);
    return adapt->alpha * noise + CGX_ADAPT_FLOOR * power_of(segment, CGX_POWER_SUM);
}

void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget)
{
    bool changes_less = changes_less_than_noise(adapt);

    *error = *budget = 0;
    for (size_t i = 0; i < layer->nsegments; i++) {
        const struct cgx_adapt_segment *segment = &layer->segments[i];

        if (!is_known(segment))
            continue;
        *error += error_of(segment, segment->about->bits);
        *budget += budget_of(adapt, segment, changes_less);
    }
}

double cgx_model_over(const struct cgx_adapt *adapt)
{
    const struct cgx_adapt_layer all = {.segments = adapt->segments, .nsegments = adapt->nsegments};
    double error, budget;

    cgx_adapt_estimate(adapt, &all, &error, &budget);
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
static void clean(double powers[CGX_POWERS], double error, unsigned contributions)
{
    double inputs = powers[CGX_POWER_INPUTS], sum = powers[CGX_POWER_SUM], part;

    powers[CGX_POWER_SUM] = positive(sum - error);
    powers[CGX_POWER_CHANGE] = positive(powers[CGX_POWER_CHANGE] - error);
    if (contributions < 2) {
        powers[CGX_POWER_INPUTS] = NAN;
        return;
    }
    part = inputs * (contributions - 1) / contributions + sum;
    part = part > 0 ? inputs / part : part;
    inputs = positive(inputs - part * error);
    powers[CGX_POWER_INPUTS] = positive(inputs - powers[CGX_POWER_SUM] / contributions) *
                               contributions / (contributions - 1);
}

/* Takes the powers in the ROW of all ranks, and the mean energy of its steps. What is not known now
 * is what it was. */
static void take_powers(struct cgx_adapt_segment *segment, const double row[CGX_ADAPT_ROW],
                        unsigned contributions, double reference)
{
    double *known = segment->known + CGX_WIDTHS, powers[CGX_POWERS];
    double grown = segment->reference > 0 ? reference / segment->reference : NAN;

    for (int p = 0; p < CGX_POWERS; p++)
        powers[p] = row[CGX_WIDTHS + p] / segment->times;
    clean(powers, row[segment->about->bits - 1] / segment->times, contributions);
    for (int p = 0; p < CGX_POWERS; p++)
        known[p] = isfinite(powers[p]) ? powers[p] : known[p] * grown;
}

static void take(struct cgx_adapt_segment *segment, const double row[CGX_ADAPT_ROW],
                 unsigned contributions)
{
    double reference = segment->passed / segment->times;
    bool finite = segment->times > 0;

    for (unsigned w = 0; w < CGX_WIDTHS; w++)
        finite = finite && isfinite(row[w]);
    if (!cgx_segment_is_variable(segment->about) || !finite)
        return;
    take_powers(segment, row, contributions, reference);
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
            take(&adapt->layers[i].segments[s], *row++, adapt->layers[i].contributions);
}

/* ---- the choice ---- */

struct choice {
    struct cgx_share *shares;
    double (*errors)[CGX_WIDTHS];
    size_t nshares;
    double budget; /* of all errors */
    double error;  /* with the present widths */
    double cost;   /* bits of the present widths */
    bool changes_less;
    bool forbidden; /* some present width is below the cap */
};

static void add_share(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment,
                      struct choice *choice)
{
    const struct cgx_segment *about = segment->about;
    unsigned least = least_of(segment);
    double *errors = choice->errors[choice->nshares];

    for (unsigned bits = about->least; bits <= about->most; bits++)
        errors[bits - 1] = error_of(segment, bits);
    choice->shares[choice->nshares++] = (struct cgx_share){.cost = (double)about->count,
                                                           .errors = errors,
                                                           .least = least,
                                                           .most = about->most,
                                                           .base = base_of(adapt, segment)};
    choice->budget += budget_of(adapt, segment, choice->changes_less);
    choice->error += error_of(segment, about->bits);
    choice->cost += (double)about->count * about->bits;
    choice->forbidden = choice->forbidden || about->bits < least;
}

/* Where base widths cost less they are the choice: their error is the budget, of which the margin
 * leaves a part unspent. */
static void prefer_base(const struct cgx_adapt *adapt, struct choice *choice)
{
    double base = 0;

    for (size_t i = 0; i < choice->nshares; i++) {
        const struct cgx_share *share = &choice->shares[i];

        if (share->base < share->least || share->base > share->most)
            return;
        base += share->cost * share->base;
    }
    if (adapt->kind != CGX_BUDGET_ERROR || adapt->alpha < 1 ||
        base > cgx_allocate_cost(choice->shares, choice->nshares))
        return;
    for (size_t i = 0; i < choice->nshares; i++)
        choice->shares[i].bits = choice->shares[i].base;
}

/* The chosen widths go to the block, in the order of add_share. */
static void set_widths(struct cgx_adapt *adapt, const struct choice *choice)
{
    size_t share = 0;

    for (size_t i = 0; i < adapt->nsegments; i++)
        if (is_known(&adapt->segments[i]))
            adapt->widths[i] = (uint8_t)choice->shares[share++].bits;
}

static void choose(struct cgx_adapt *adapt, struct choice *choice)
{
    choice->changes_less = changes_less_than_noise(adapt);
    for (size_t i = 0; i < adapt->nsegments; i++)
        if (is_known(&adapt->segments[i]))
            add_share(adapt, &adapt->segments[i], choice);
    if (!isfinite(choice->budget) ||
        cgx_allocate(choice->shares, choice->nshares, CGX_ADAPT_MARGIN * choice->budget) != CGX_OK)
        return;
    prefer_base(adapt, choice);
    if (adapt->choices == 0 || choice->forbidden || choice->error > choice->budget ||
        cgx_allocate_cost(choice->shares, choice->nshares) < CGX_ADAPT_GAIN * choice->cost)
        set_widths(adapt, choice);
}

void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    struct choice choice = {.shares = calloc(adapt->nsegments, sizeof(struct cgx_share)),
                            .errors = calloc(adapt->nsegments, sizeof(double[CGX_WIDTHS]))};

    if (due == CGX_ADAPT_MEASURED)
        cgx_model_take(adapt);
    if (choice.shares && choice.errors)
        choose(adapt, &choice);
    free(choice.shares);
    free(choice.errors);
}
