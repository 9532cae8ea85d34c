/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/allocate.h"

/* ---- memory ---- */

static bool is_wanted(const struct cgx_plan *plan)
{
    return plan && plan->adaptive;
}

static bool is_variable(const struct cgx_segment *segment)
{
    return segment->least < segment->most;
}

/* Hands PLACES rows of ROW bytes on from *MEMORY. */
static void *take(unsigned char **memory, size_t places, size_t row)
{
    void *taken = *memory;

    *memory += places * row;
    return taken;
}

/* The block that is sent comes first, its widths behind all that must be aligned. */
static bool give_memory(struct cgx_adapt *adapt)
{
    const size_t row = sizeof adapt->measured[0], n = adapt->nsegments;
    unsigned char *memory = calloc(n, 2 * row + 3 * sizeof(double));
    unsigned char *block = calloc(n, row + 1);
    size_t first = 0;

    adapt->measured = (void *)memory;
    adapt->summed = (void *)block;
    if (!memory || !block)
        return false;
    memory += n * row;
    adapt->widths = block + n * row;
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];
        size_t nsegments = layer->plan ? layer->plan->nsegments : 0;

        if (!layer->plan)
            continue;
        layer->measured = adapt->measured + first;
        layer->summed = adapt->summed + first;
        layer->errors = take(&memory, nsegments, row);
        layer->spreads = take(&memory, nsegments, sizeof(double));
        layer->reference = take(&memory, nsegments, sizeof(double));
        layer->scale = take(&memory, nsegments, sizeof(double));
        for (size_t s = 0; s < nsegments; s++) {
            adapt->widths[first + s] = layer->plan->segments[s].bits;
            layer->errors[s][0] = NAN;
        }
        first += nsegments;
    }
    return true;
}

struct cgx_adapt *cgx_adapt_create(const struct cgx_settings *settings,
                                   const struct cgx_plan *const *plans, size_t nplans)
{
    struct cgx_adapt *adapt = calloc(1, sizeof *adapt + nplans * sizeof adapt->layers[0]);
    bool had = adapt != NULL;

    if (!adapt)
        return NULL;
    adapt->base = (unsigned)settings->bits;
    adapt->period = settings->adaptive_period;
    adapt->alpha = settings->adaptive_budget;
    adapt->left = CGX_ADAPT_FIRST;
    adapt->allowed = 1;
    adapt->nlayers = nplans;
    for (size_t i = 0; had && i < nplans; i++) {
        if (!is_wanted(plans[i]))
            continue;
        adapt->layers[i].plan = cgx_plan_copy(plans[i]);
        had = adapt->layers[i].plan != NULL;
        adapt->nsegments += plans[i]->nsegments;
    }
    if (had && adapt->nsegments > 0 && give_memory(adapt))
        return adapt;
    cgx_adapt_free(adapt);
    return NULL;
}

void cgx_adapt_free(struct cgx_adapt *adapt)
{
    if (!adapt)
        return;
    for (size_t i = 0; i < adapt->nlayers; i++)
        cgx_plan_free(adapt->layers[i].plan);
    free(adapt->measured);
    free(adapt->summed);
    free(adapt);
}

size_t cgx_adapt_block(const struct cgx_adapt *adapt)
{
    return adapt->nsegments * (sizeof adapt->measured[0] + 1);
}

/* ---- estimates ---- */

/* The width that the error of SEGMENT is compared with. */
static unsigned base_of(const struct cgx_adapt *adapt, const struct cgx_segment *segment)
{
    return adapt->base == CGX_BITS_EXACT ? segment->most : adapt->base;
}

/* Squared steps at BITS over those of one step to the range. */
static double grid_squared(const struct cgx_plan *plan, unsigned bits)
{
    double steps = (double)(1u << bits) - (plan->rounding == CGX_ROUNDING_STOCHASTIC ? 2 : 1);

    return steps * steps;
}

/* What the spread of SEGMENT would be if its steps were its ranges. */
static double range_squared(const struct cgx_adapt_layer *layer, size_t segment)
{
    return layer->spreads[segment] * grid_squared(layer->plan, layer->plan->segments[segment].bits);
}

/* Follows the spreads of the step that has gone by. A poisoned segment keeps its last scale. */
static void follow_spreads(struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        double now;

        if (!is_variable(&layer->plan->segments[i]))
            continue;
        now = range_squared(layer, i);
        if (!isfinite(now))
            continue;
        layer->scale[i] = layer->reference[i] > 0 ? now / layer->reference[i] : now;
    }
}

/* The error of SEGMENT at BITS. Where nothing was measured that could be scaled, of elements spread
 * evenly between the levels: n u^2 / 12, or twice that. */
static double error_at(const struct cgx_adapt_layer *layer, size_t segment, unsigned bits)
{
    const struct cgx_plan *plan = layer->plan;

    if (!isnan(layer->errors[segment][0]) && layer->reference[segment] > 0)
        return layer->errors[segment][bits - 1] * layer->scale[segment];
    return layer->scale[segment] / grid_squared(plan, bits) /
           (plan->rounding == CGX_ROUNDING_STOCHASTIC ? 6 : 12);
}

void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *now, double *base)
{
    const struct cgx_segment *segments = layer->plan->segments;

    *now = *base = 0;
    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        if (!is_variable(&segments[i]))
            continue;
        *now += error_at(layer, i, segments[i].bits);
        *base += error_at(layer, i, base_of(adapt, &segments[i]));
    }
}

/* Estimated error of all layers over their budget; 0 where both are 0. */
static double over_budget(const struct cgx_adapt *adapt)
{
    double now = 0, base = 0;

    for (size_t i = 0; i < adapt->nlayers; i++) {
        double n, b;

        if (!adapt->layers[i].plan)
            continue;
        cgx_adapt_estimate(adapt, &adapt->layers[i], &n, &b);
        now += n;
        base += b;
    }
    return now > 0 ? now / (adapt->alpha * base) : 0;
}

/* ---- steps ---- */

bool cgx_adapt_measures(const struct cgx_adapt *adapt)
{
    return adapt->left == 1;
}

/* What was measured says nothing of values on quite another scale: steps have a least size. */
static bool is_outgrown(const struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; layer->plan && i < layer->plan->nsegments; i++) {
        if (is_variable(&layer->plan->segments[i]) && layer->reference[i] > 0 &&
            layer->scale[i] > CGX_ADAPT_OUTGROWN)
            return true;
    }
    return false;
}

enum cgx_adapt_due cgx_adapt_step(struct cgx_adapt *adapt)
{
    adapt->steps++;
    adapt->left--;
    for (size_t i = 0; i < adapt->nlayers; i++) {
        if (adapt->layers[i].plan)
            follow_spreads(&adapt->layers[i]);
        if (adapt->choices > 0 && adapt->left > 1 && is_outgrown(&adapt->layers[i]))
            adapt->left = 1;
    }
    if (adapt->left == 0) {
        adapt->left = adapt->period;
        return CGX_ADAPT_MEASURED;
    }
    if (adapt->choices == 0 || !(over_budget(adapt) > adapt->allowed))
        return CGX_ADAPT_NOTHING;
    adapt->left = 1;
    return CGX_ADAPT_SCALED;
}

/* Makes the sum of all ranks' measurements what estimates are made from, where it is finite. */
static void take_errors(struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        bool finite = is_variable(&layer->plan->segments[i]) && isfinite(range_squared(layer, i));

        for (unsigned w = 0; w < CGX_WIDTHS; w++)
            finite = finite && isfinite(layer->summed[i][w]);
        if (!finite)
            continue;
        memcpy(layer->errors[i], layer->summed[i], sizeof layer->errors[i]);
        layer->reference[i] = range_squared(layer, i);
        layer->scale[i] = layer->reference[i] > 0 ? 1 : 0;
    }
}

/* ---- choosing ---- */

struct choice {
    struct cgx_share *shares;
    double (*errors)[CGX_WIDTHS];
    size_t nshares;
    double budget; /* of all errors */
    double error;  /* with the present widths */
    double cost;   /* bits of the present widths */
};

static void add_share(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                      size_t segment, struct choice *choice)
{
    const struct cgx_segment *about = &layer->plan->segments[segment];
    double *errors = choice->errors[choice->nshares];

    for (unsigned bits = 1; bits <= CGX_WIDTHS; bits++)
        errors[bits - 1] = bits > 1 || layer->plan->rounding == CGX_ROUNDING_NEAREST
                               ? error_at(layer, segment, bits)
                               : 0;
    choice->shares[choice->nshares++] = (struct cgx_share){.cost = (double)about->count,
                                                           .errors = errors,
                                                           .least = about->least,
                                                           .most = about->most,
                                                           .base = base_of(adapt, about)};
    choice->budget += adapt->alpha * errors[base_of(adapt, about) - 1];
    choice->error += errors[about->bits - 1];
    choice->cost += (double)about->count * about->bits;
}

static double cost_of(const struct choice *choice)
{
    double cost = 0;

    for (size_t i = 0; i < choice->nshares; i++)
        cost += choice->shares[i].cost * choice->shares[i].bits;
    return cost;
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
    if (adapt->alpha < 1 || base > cost_of(choice))
        return;
    for (size_t i = 0; i < choice->nshares; i++)
        choice->shares[i].bits = choice->shares[i].base;
}

/* The chosen widths go to the block, in the order of add_share. */
static void set_widths(struct cgx_adapt *adapt, const struct choice *choice)
{
    size_t segment = 0, share = 0;

    for (size_t i = 0; i < adapt->nlayers; i++) {
        const struct cgx_plan *plan = adapt->layers[i].plan;

        for (size_t s = 0; plan && s < plan->nsegments; s++, segment++) {
            if (is_variable(&plan->segments[s]))
                adapt->widths[segment] = (uint8_t)choice->shares[share++].bits;
        }
    }
}

static void choose(struct cgx_adapt *adapt, struct choice *choice)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        const struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < layer->plan->nsegments; s++) {
            if (is_variable(&layer->plan->segments[s]))
                add_share(adapt, layer, s, choice);
        }
    }
    if (!isfinite(choice->budget) ||
        cgx_allocate(choice->shares, choice->nshares, CGX_ADAPT_MARGIN * choice->budget) != CGX_OK)
        return;
    prefer_base(adapt, choice);
    if (adapt->choices == 0 || choice->error > choice->budget ||
        cost_of(choice) < CGX_ADAPT_GAIN * choice->cost)
        set_widths(adapt, choice);
}

static void take_summed(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    for (size_t i = 0; due == CGX_ADAPT_MEASURED && i < adapt->nlayers; i++) {
        if (adapt->layers[i].plan)
            take_errors(&adapt->layers[i]);
    }
}

void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    struct choice choice = {.shares = calloc(adapt->nsegments, sizeof(struct cgx_share)),
                            .errors = calloc(adapt->nsegments, sizeof(double[CGX_WIDTHS]))};

    take_summed(adapt, due);
    if (choice.shares && choice.errors)
        choose(adapt, &choice);
    free(choice.shares);
    free(choice.errors);
}

bool cgx_adapt_take(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    const uint8_t *widths = adapt->widths;
    bool changed = false;
    double over;

    take_summed(adapt, due);
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_plan *plan = adapt->layers[i].plan;
        uint32_t hash;

        if (!plan)
            continue;
        hash = plan->hash;
        cgx_plan_set(plan, widths);
        widths += plan->nsegments;
        changed = changed || plan->hash != hash;
    }
    /* A call that is not compressed in the next measured step must not count with this one. */
    for (size_t i = 0; i < adapt->nsegments; i++)
        adapt->measured[i][0] = NAN;
    adapt->choices++;
    over = over_budget(adapt);
    adapt->allowed = over > 1 ? CGX_ADAPT_EXCEEDED * over : 1;
    return changed;
}
