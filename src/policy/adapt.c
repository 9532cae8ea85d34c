/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/adapt_model.h"

/* ---- which steps are measured ---- */

bool cgx_adapt_measures(const struct cgx_adapt *adapt)
{
    return adapt->left <= adapt->window;
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

/* Where powers are found in the next step: in the same buckets twice running. */
static void follow_sampling(struct cgx_adapt *adapt)
{
    struct cgx_sampling sampling = cgx_adapt_sampling(adapt);

    sampling.phase &= ~1u;
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_kept *kept = &adapt->layers[i].kept;

        kept->compares = kept->compares && cgx_adapt_measures(adapt) &&
                         kept->sampling.phases == sampling.phases &&
                         kept->sampling.phase == sampling.phase;
        kept->sampling = sampling;
    }
}

/* The next choice from a measurement is LEFT steps away, the last WINDOW of which are measured. */
static void aim(struct cgx_adapt *adapt, unsigned left, unsigned window)
{
    adapt->left = left;
    adapt->window = window < left ? window : left;
}

/* ---- memory ---- */

static bool is_wanted(const struct cgx_plan *plan)
{
    return plan && plan->adaptive;
}

/* Hands PLACES rows of ROW bytes on from *MEMORY. */
static void *take(unsigned char **memory, size_t places, size_t row)
{
    void *taken = *memory;

    *memory += places * row;
    return taken;
}

/* What LAYER has of the memory for all, beside the rows that are sent. */
static void give_rows(struct cgx_adapt_layer *layer, unsigned char **memory)
{
    size_t n = layer->plan->nsegments;

    layer->known = take(memory, n, sizeof layer->known[0]);
    layer->findings = take(memory, n, sizeof layer->findings[0]);
    layer->found = take(memory, n, sizeof layer->found[0]);
    layer->energies = take(memory, n, sizeof(double));
    layer->passed = take(memory, n, sizeof(double));
    layer->times = take(memory, n, sizeof(double));
    layer->reference = take(memory, n, sizeof(double));
    layer->latest = take(memory, n, sizeof(double));
    layer->scale = take(memory, n, sizeof(double));
    for (size_t s = 0; s < n; s++) {
        for (unsigned i = 0; i < CGX_ADAPT_ROW; i++)
            layer->known[s][i] = NAN;
        layer->energies[s] = layer->scale[s] = NAN;
    }
}

static size_t kept_of(const struct cgx_plan *plan)
{
    return plan->count / CGX_KEPT_PART + CGX_KEPT_ELEMENTS;
}

/* The block that is sent comes first, its widths behind all that must be aligned. */
static bool give_memory(struct cgx_adapt *adapt)
{
    const size_t row = sizeof adapt->measured[0], n = adapt->nsegments;
    unsigned char *memory =
        calloc(n, 2 * row + 2 * sizeof(struct cgx_finding) + 6 * sizeof(double));
    unsigned char *block = calloc(n, row + 1);
    size_t first = 0, kept = 0;

    for (size_t i = 0; i < adapt->nlayers; i++)
        kept += adapt->layers[i].plan ? kept_of(adapt->layers[i].plan) : 0;
    adapt->measured = (void *)memory;
    adapt->summed = (void *)block;
    adapt->kept = malloc(kept * sizeof adapt->kept[0]);
    if (!memory || !block || !adapt->kept)
        return false;
    memory += n * row;
    adapt->widths = block + n * row;
    kept = 0;
    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];
        size_t nsegments = layer->plan ? layer->plan->nsegments : 0;

        if (!layer->plan)
            continue;
        layer->measured = adapt->measured + first;
        layer->summed = adapt->summed + first;
        layer->kept.elements = adapt->kept + kept;
        layer->kept.room = kept_of(layer->plan);
        kept += layer->kept.room;
        give_rows(layer, &memory);
        for (size_t s = 0; s < nsegments; s++)
            adapt->widths[first + s] = layer->plan->segments[s].bits;
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
    adapt->kind = settings->adaptive_budget_kind;
    adapt->alpha = settings->adaptive_budget;
    adapt->left = adapt->window = CGX_ADAPT_FIRST;
    adapt->allowed = 1;
    adapt->nlayers = nplans;
    for (size_t i = 0; had && i < nplans; i++) {
        if (!is_wanted(plans[i]))
            continue;
        adapt->layers[i].plan = cgx_plan_copy(plans[i]);
        had = adapt->layers[i].plan != NULL;
        adapt->nsegments += plans[i]->nsegments;
    }
    if (had && adapt->nsegments > 0 && give_memory(adapt)) {
        follow_sampling(adapt);
        return adapt;
    }
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
    free(adapt->kept);
    free(adapt);
}

size_t cgx_adapt_block(const struct cgx_adapt *adapt)
{
    return adapt->nsegments * (sizeof adapt->measured[0] + 1);
}

/* ---- what a step has shown ---- */

/* Follows the energies of the step that has gone by; a poisoned segment keeps its last scale. True
 * if the layer was in the step. */
static bool follow_energies(struct cgx_adapt_layer *layer)
{
    bool was_in = false;

    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        double now = cgx_model_range(layer, i);

        layer->energies[i] = NAN;
        was_in = was_in || isfinite(now);
        if (!cgx_model_is_variable(&layer->plan->segments[i]) || !isfinite(now))
            continue;
        layer->latest[i] = now;
        layer->scale[i] = layer->reference[i] > 0 ? now / layer->reference[i] : now;
    }
    return was_in;
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
    if (isfinite(finding->sampled) && are_finite(finding->errors, CGX_WIDTHS)) {
        to->sampled += finding->sampled;
        for (unsigned w = 0; w < CGX_WIDTHS; w++)
            to->errors[w] += finding->errors[w];
    }
    for (int p = 0; p < CGX_POWERS; p++) {
        to->powers[p] += finding->powers[p];
        to->seen[p] += finding->seen[p];
    }
}

/* Adds what was found of LAYER in the step, segment by segment, where it is finite on all ranks. */
static void add_findings(struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        double now = cgx_model_range(layer, i);

        if (!isfinite(now))
            continue;
        add_finding(&layer->found[i], &layer->findings[i]);
        layer->passed[i] += now;
        layer->times[i]++;
    }
}

static void forget_found(struct cgx_adapt_layer *layer)
{
    size_t n = layer->plan->nsegments;

    memset(layer->found, 0, n * sizeof layer->found[0]);
    memset(layer->passed, 0, n * sizeof layer->passed[0]);
    memset(layer->times, 0, n * sizeof layer->times[0]);
}

/* What SUM over buckets of weight SEEN is for those of weight ALL. A sample of constant buckets
 * says nothing of others. */
static double for_all(double sum, double seen, double all)
{
    if (!(all > 0))
        return all; /* 0, or NaN */
    return seen > 0 ? sum * (all / seen) : NAN;
}

static void conclude(struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; i < layer->plan->nsegments; i++) {
        const struct cgx_finding *found = &layer->found[i];
        double *row = layer->measured[i];

        for (unsigned w = 0; w < CGX_WIDTHS; w++)
            row[w] = for_all(found->errors[w], found->sampled, found->quantised);
        for (int p = 0; p < CGX_POWERS; p++)
            row[CGX_WIDTHS + p] = for_all(found->powers[p], found->seen[p], found->owned);
    }
}

/* ---- steps ---- */

/* What was measured says nothing of values on quite another scale: steps have a least size. */
static bool is_outgrown(const struct cgx_adapt_layer *layer)
{
    for (size_t i = 0; layer->plan && i < layer->plan->nsegments; i++) {
        if (cgx_model_is_variable(&layer->plan->segments[i]) && layer->reference[i] > 0 &&
            layer->scale[i] > CGX_ADAPT_OUTGROWN)
            return true;
    }
    return false;
}

/* Takes note of the step in all layers, which was measured or not. True if one is outgrown. */
static bool follow_step(struct cgx_adapt *adapt, bool measured)
{
    bool outgrown = false;

    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];

        if (!layer->plan)
            continue;
        if (measured)
            add_findings(layer);
        layer->kept.compares = follow_energies(layer) && measured;
        outgrown = outgrown || is_outgrown(layer);
    }
    return outgrown;
}

static void forget_all(struct cgx_adapt *adapt)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        if (adapt->layers[i].plan)
            forget_found(&adapt->layers[i]);
    }
}

enum cgx_adapt_due cgx_adapt_step(struct cgx_adapt *adapt)
{
    bool outgrown = follow_step(adapt, cgx_adapt_measures(adapt));
    enum cgx_adapt_due due = CGX_ADAPT_NOTHING;

    adapt->steps++;
    adapt->left--;
    if (adapt->choices > 0 && adapt->left > 1 && outgrown) {
        forget_all(adapt);
        aim(adapt, 1, 1);
    }
    if (adapt->left == 0) {
        for (size_t i = 0; i < adapt->nlayers; i++) {
            if (adapt->layers[i].plan)
                conclude(&adapt->layers[i]);
        }
        aim(adapt, adapt->period, CGX_ADAPT_MEASURED_STEPS);
        due = CGX_ADAPT_MEASURED;
    } else if (adapt->choices > 0 && cgx_model_over(adapt) > adapt->allowed) {
        aim(adapt, 1, 1);
        due = CGX_ADAPT_SCALED;
    }
    follow_sampling(adapt);
    return due;
}

bool cgx_adapt_take(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    const uint8_t *widths = adapt->widths;
    bool changed = false;
    double over;

    for (size_t i = 0; i < adapt->nlayers; i++) {
        struct cgx_adapt_layer *layer = &adapt->layers[i];
        uint32_t hash;

        if (!layer->plan)
            continue;
        if (due == CGX_ADAPT_MEASURED)
            cgx_model_take(layer);
        hash = layer->plan->hash;
        cgx_plan_set(layer->plan, widths);
        widths += layer->plan->nsegments;
        changed = changed || layer->plan->hash != hash;
        /* Where it is cut is a matter of its widths. */
        layer->kept.compares = layer->kept.compares && layer->plan->hash == hash;
    }
    /* With these widths all is measured anew. */
    forget_all(adapt);
    adapt->choices++;
    over = cgx_model_over(adapt);
    adapt->allowed = over > 1 ? CGX_ADAPT_EXCEEDED * over : 1;
    return changed;
}
