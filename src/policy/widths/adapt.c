/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/widths/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/widths/adapt_account.h"
#include "policy/widths/adapt_model.h"

/* ---- which steps are measured ---- */

bool cgx_adapt_measures(const struct cgx_adapt *adapt)
{
    return adapt->left <= adapt->window;
}

bool cgx_adapt_samples_input(const struct cgx_adapt *adapt)
{
    return adapt->left == 1;
}

struct cgx_sampling cgx_adapt_sampling(const struct cgx_adapt *adapt)
{
    struct cgx_sampling sampling = {.phases = 1};

    while (sampling.phases < adapt->window)
        sampling.phases *= 2;
    if (cgx_adapt_measures(adapt))
        sampling.phase = adapt->window - adapt->left;
    return sampling;
}

/* The next choice from a measurement is due after LEFT steps, the last WINDOW of which are
 * measured. */
static void plan_next_choice(struct cgx_adapt *adapt, unsigned left, unsigned window)
{
    adapt->left = left;
    adapt->window = window < left ? window : left;
}

/* ---- memory ---- */

/* Gives LAYER a copy of PLAN, if something of PLAN is chosen. */
static bool make_layer(const struct cgx_plan *plan, struct cgx_adapt_layer *layer)
{
    if (!plan || !plan->adaptive)
        return true;
    layer->plan = cgx_plan_copy(plan);
    layer->nsegments = plan->nsegments;
    return layer->plan != NULL;
}

/* Allocates the memory of all layers' segments. */
static bool get_memory(struct cgx_adapt *adapt)
{
    const size_t n = adapt->nsegments;

    adapt->segments = calloc(n, sizeof adapt->segments[0]);
    adapt->energies = calloc(n, sizeof adapt->energies[0]);
    adapt->findings = calloc(n, sizeof adapt->findings[0]);
    adapt->measured = calloc(n, sizeof adapt->measured[0]);
    adapt->summed = calloc(1, cgx_adapt_block(adapt));
    if (!adapt->segments || !adapt->energies || !adapt->findings || !adapt->measured ||
        !adapt->summed)
        return false;
    /* Bytes follow all that needs alignment. */
    adapt->encodings = (uint8_t *)(adapt->summed + n);
    return true;
}

/* Forgets what is known of SEGMENT. */
static void forget(struct cgx_adapt_segment *segment)
{
    double *known = (double *)(void *)&segment->known;

    for (size_t i = 0; i < CGX_ADAPT_ROW; i++)
        known[i] = NAN;
    segment->found = (struct cgx_finding){.owned = 0};
    segment->passed = segment->times = segment->reference = 0;
    segment->scale = NAN;
}

/* Gives LAYER its part of the memory, from segment FIRST on, and initialises it. */
static void give_part(struct cgx_adapt *adapt, struct cgx_adapt_layer *layer, size_t first)
{
    layer->segments = adapt->segments + first;
    layer->energies = adapt->energies + first;
    layer->findings = adapt->findings + first;
    for (size_t s = 0; s < layer->nsegments; s++) {
        struct cgx_adapt_segment *segment = &layer->segments[s];

        segment->plan = layer->plan;
        segment->about = &layer->plan->segments[s];
        adapt->has_widths = adapt->has_widths || cgx_segment_has_widths(segment->about);
        forget(segment);
        layer->energies[s] = NAN;
        adapt->encodings[first + s] = (uint8_t)cgx_segment_encoding(segment->about);
    }
}

static bool make_layers(struct cgx_adapt *adapt, const struct cgx_plan *const *plans)
{
    size_t first = 0;

    for (size_t i = 0; i < adapt->nlayers; i++) {
        if (!make_layer(plans[i], &adapt->layers[i]))
            return false;
        adapt->nsegments += adapt->layers[i].nsegments;
    }
    if (adapt->nsegments == 0 || !get_memory(adapt))
        return false;
    for (size_t i = 0; i < adapt->nlayers; i++) {
        give_part(adapt, &adapt->layers[i], first);
        first += adapt->layers[i].nsegments;
    }
    return true;
}

struct cgx_adapt *cgx_adapt_create(const struct cgx_settings *settings,
                                   const struct cgx_plan *const *plans, size_t nplans)
{
    struct cgx_adapt *adapt = calloc(1, sizeof *adapt + nplans * sizeof adapt->layers[0]);

    if (!adapt)
        return NULL;
    adapt->base = settings->bits;
    adapt->period = settings->adaptive_period;
    adapt->alpha = settings->adaptive_budget;
    adapt->left = adapt->window = CGX_ADAPT_FIRST;
    adapt->wait = CGX_ADAPT_LEAST;
    adapt->correction = 1;
    adapt->over = NAN;
    adapt->nlayers = nplans;
    if (!make_layers(adapt, plans)) {
        cgx_adapt_free(adapt);
        return NULL;
    }
    return adapt;
}

void cgx_adapt_free(struct cgx_adapt *adapt)
{
    if (!adapt)
        return;
    for (size_t i = 0; i < adapt->nlayers; i++)
        cgx_plan_free(adapt->layers[i].plan);
    free(adapt->segments);
    free(adapt->energies);
    free(adapt->findings);
    free(adapt->measured);
    free(adapt->summed);
    free(adapt);
}

size_t cgx_adapt_block(const struct cgx_adapt *adapt)
{
    return adapt->nsegments * (sizeof adapt->measured[0] + 1);
}

/* ---- what a step has shown ---- */

/* Follows the energies of the last step. A segment whose energy is not finite keeps its scale. */
static void follow_energies(struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; i < layer->nsegments; i++) {
        struct cgx_adapt_segment *segment = &layer->segments[i];
        double now = cgx_model_range(segment, layer->energies[i]);

        layer->energies[i] = NAN;
        if (!cgx_segment_is_chosen(segment->about) || !isfinite(now))
            continue;
        segment->latest = now;
        segment->scale = segment->reference > 0 ? now / segment->reference : now;
    }
}

static bool are_finite(const double *values, size_t count)
{
    bool finite = true;

    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

static void add_finding(struct cgx_finding *to, const struct cgx_finding *finding)
{
    to->quantised += finding->quantised;
    to->owned += finding->owned;
    if (are_finite(finding->weights, CGX_FAMILIES) && are_finite(finding->errors, CGX_WIDTHS)) {
        for (int f = 0; f < CGX_FAMILIES; f++)
            to->weights[f] += finding->weights[f];
        for (unsigned w = 0; w < CGX_WIDTHS; w++)
            to->errors[w] += finding->errors[w];
    }
    to->second_moment += finding->second_moment;
    to->sampled += finding->sampled;
}

/* Adds the findings of the step, segment by segment, if the energy is finite, which is the same on
 * all ranks. */
static void add_findings(struct cgx_adapt *adapt)
{
    for (size_t i = 0; i < adapt->nsegments; i++) {
        struct cgx_adapt_segment *segment = &adapt->segments[i];
        double now = cgx_model_range(segment, adapt->energies[i]);

        if (!isfinite(now))
            continue;
        add_finding(&segment->found, &adapt->findings[i]);
        segment->passed += now;
        segment->times++;
    }
}

static void forget_found(struct cgx_adapt *adapt)
{
    for (size_t i = 0; i < adapt->nsegments; i++) {
        adapt->segments[i].found = (struct cgx_finding){.owned = 0};
        adapt->segments[i].passed = adapt->segments[i].times = 0;
    }
}

static void conclude(struct cgx_adapt *adapt)
{
    for (size_t i = 0; i < adapt->nsegments; i++) {
        const struct cgx_finding *found = &adapt->segments[i].found;
        struct cgx_adapt_row *row = &adapt->measured[i];

        memcpy(row->errors, found->errors, sizeof row->errors);
        row->second_moment = cgx_model_for_all(found->second_moment, found->sampled, found->owned);
        memcpy(row->weights, found->weights, sizeof row->weights);
        row->quantised = found->quantised;
    }
}

/* ---- steps ---- */

/* Errors that were measured cannot be scaled to far larger values, since quantisation steps have a
 * least size. */
static bool is_outgrown(const struct cgx_adapt *adapt)
{
    for (size_t i = 0; i < adapt->nsegments; i++)
        if (adapt->segments[i].reference > 0 && adapt->segments[i].scale > CGX_ADAPT_OUTGROWN)
            return true;
    return false;
}

enum cgx_adapt_due cgx_adapt_step(struct cgx_adapt *adapt)
{
    enum cgx_adapt_due due = CGX_ADAPT_NOTHING;

    adapt->steps++;
    if (cgx_adapt_measures(adapt))
        add_findings(adapt);
    for (size_t i = 0; i < adapt->nlayers; i++)
        follow_energies(&adapt->layers[i]);
    adapt->left--;
    cgx_account_step(adapt);
    if (adapt->choices > 0 && adapt->left > 1 && is_outgrown(adapt)) {
        forget_found(adapt);
        plan_next_choice(adapt, 1, 1);
    }
    if (adapt->left == 0) {
        conclude(adapt);
        plan_next_choice(adapt, cgx_account_next(adapt), CGX_ADAPT_MEASURED_STEPS);
        due = CGX_ADAPT_MEASURED;
    } else if (cgx_account_is_exceeded(adapt)) {
        plan_next_choice(adapt, cgx_account_fall(adapt), CGX_ADAPT_MEASURED_STEPS);
        due = CGX_ADAPT_SCALED;
    }
    return due;
}

/* ---- choices ---- */

/* Converts the energies of SEGMENT, which switches to FAMILY, to those of that family's headers. */
static void switch_family(struct cgx_adapt_segment *segment, enum cgx_family family)
{
    const double *weights = segment->known.weights;
    double ratio = weights[family] / weights[segment->about->family];

    if (segment->reference > 0 && ratio > 0 && isfinite(ratio)) {
        segment->reference *= ratio;
        segment->latest *= ratio;
        segment->share *= ratio;
    } else {
        forget(segment);
    }
}

bool cgx_adapt_take(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    const uint8_t *encodings = adapt->encodings;
    bool changed = false;

    if (due == CGX_ADAPT_MEASURED)
        cgx_account_learn(adapt);
    for (size_t i = 0; i < adapt->nsegments; i++) {
        struct cgx_adapt_segment *segment = &adapt->segments[i];

        enum cgx_family family = cgx_encoding_family(encodings[i]);

        if (segment->about->alternatives[family].bits > 0)
            switch_family(segment, family);
    }
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];
        uint32_t hash;

        if (!layer->plan)
            continue;
        hash = layer->plan->hash;
        cgx_plan_set(layer->plan, encodings);
        encodings += layer->nsegments;
        changed = changed || layer->plan->hash != hash;
    }
    /* The new encodings are measured from the beginning. */
    forget_found(adapt);
    adapt->choices++;
    cgx_account_chosen(adapt, due, changed);
    return changed;
}

void cgx_adapt_allow(struct cgx_adapt *adapt, struct cgx_adapt_layer *layer, const uint8_t *any)
{
    uint8_t *encodings = adapt->encodings + (layer->segments - adapt->segments);

    for (size_t i = 0; i < layer->nsegments; i++) {
        struct cgx_adapt_segment *segment = &layer->segments[i];
        const struct cgx_segment *about = segment->about;

        segment->free = any[i] != 0;
        /* This holds unless the choice sets another encoding. */
        if (cgx_segment_has_alternative(about) && !segment->free)
            encodings[i] = (uint8_t)cgx_segment_widths(about, CGX_FAMILY_MAXMIN).bits;
    }
}

void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget)
{
    cgx_model_estimate(adapt, layer, error, budget);
}
