/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/stats.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "mpi/config.h"

/* The most bytes of widths as text. */
#define WIDTHS_BYTES 1024

/* ---- layers ---- */

static bool is_same(struct cgx_callsite_key a, struct cgx_callsite_key b)
{
    return a.position == b.position && a.count == b.count && a.type == b.type && a.rule == b.rule;
}

/* The place of KEY in the table, or the free place for it. */
static uint32_t *slot_of(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    uint64_t hash = (cgx_callsite_word(key.count, key.type) ^ (uint64_t)key.position << 40 ^
                     (uint64_t)key.rule << 20) *
                    UINT64_C(0x9E3779B97F4A7C15);
    size_t place = (size_t)(hash >> 32) % CGX_STATS_SLOTS;

    while (stats->slots[place] != 0 && !is_same(stats->layers[stats->slots[place] - 1].key, key))
        place = (place + 1) % CGX_STATS_SLOTS;
    return &stats->slots[place];
}

/* The layer of KEY, or NULL. */
static struct cgx_stats_layer *look_up(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    uint32_t index = *slot_of(stats, key);

    return index ? &stats->layers[index - 1] : NULL;
}

/* The layer of KEY, made if it is new, or the joint layer of others if the table is full. */
static struct cgx_stats_layer *layer_of(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    struct cgx_stats_layer *found = look_up(stats, key);

    if (found)
        return found;
    if (stats->nlayers == CGX_STATS_LAYERS)
        return &stats->other;
    *slot_of(stats, key) = (uint32_t)stats->nlayers + 1;
    found = &stats->layers[stats->nlayers++];
    *found = (struct cgx_stats_layer){.key = key, .type = key.type, .error = NAN, .budget = NAN};
    return found;
}

/* ---- changes of widths ---- */

/* The widths of PLAN as runs of equal segments: "120x3,4x8" or, with the mark of a family,
 * "120xr3". A long text is cut and ends in "...". */
static char *widths_of(const struct cgx_plan *plan)
{
    char text[WIDTHS_BYTES];
    size_t used = 0, i = 0;

    while (i < plan->nsegments) {
        size_t first = i;
        unsigned encoding = cgx_segment_encoding(&plan->segments[i]);

        while (i < plan->nsegments && cgx_segment_encoding(&plan->segments[i]) == encoding)
            i++;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%zux%s%u", first ? "," : "",
                                 i - first, cgx_encoding_quantiser(encoding)->mark,
                                 cgx_encoding_width(encoding));
        if (i < plan->nsegments && sizeof text - used < 32) {
            snprintf(text + used, sizeof text - used, ",...");
            break;
        }
    }
    return strdup(text);
}

/* Makes space for one more change. The array grows from one, since most layers have few changes. */
static bool grow_changes(struct cgx_stats_layer *layer)
{
    size_t n = layer->nchanges, room = n ? 2 * n : 1;
    struct cgx_stats_change *changes;

    if (n >= 2 * CGX_STATS_CHANGES || (n & (n - 1)) != 0)
        return true;
    changes = realloc(layer->changes, room * sizeof *changes);
    if (!changes)
        return false;
    memset(changes + n, 0, (room - n) * sizeof *changes);
    layer->changes = changes;
    return true;
}

/* Records the widths of PLAN if they are new. */
static void follow_plan(struct cgx_stats_layer *layer, const struct cgx_plan *plan, uint64_t step,
                        enum cgx_stats_cause cause)
{
    struct cgx_stats_change *change = cgx_stats_last(layer);

    if (!change || change->hash != plan->hash) {
        if (!grow_changes(layer))
            return;
        layer->nchanges++;
        change = cgx_stats_last(layer);
        if (layer->nchanges > 2 * CGX_STATS_CHANGES)
            free(change->widths);
        *change = (struct cgx_stats_change){.step = step,
                                            .call = layer->compressed,
                                            .cause = cause,
                                            .hash = plan->hash,
                                            .widths = widths_of(plan),
                                            .error = NAN,
                                            .budget = NAN};
    }
    /* Estimates come from the first choice that made these widths, or kept them. */
    if (cause != CGX_STATS_BASE && isnan(change->budget)) {
        change->error = layer->error;
        change->budget = layer->budget;
    }
}

static void count_choice(struct cgx_stats *stats, const struct cgx_stats_choice *choice)
{
    uint64_t number = stats->plans++;

    stats->guards += choice->cause == CGX_STATS_GUARD;
    stats->choices[cgx_stats_place(number, stats->plans)] = *choice;
    stats->since = 0;
}

static void count_over(struct cgx_stats *stats, double over)
{
    struct cgx_stats_choice *last =
        &stats->choices[cgx_stats_place(stats->plans - 1, stats->plans)];
    double sum = 0;

    last->over =
        stats->since == 0 ? over : last->over + (over - last->over) / (double)(stats->since + 1);
    stats->since++;
    stats->over = last->over;
    stats->recent[stats->seen++ % CGX_STATS_WINDOW] = over;
    for (size_t i = 0; i < CGX_STATS_WINDOW; i++)
        sum += stats->recent[i];
    if (stats->seen >= CGX_STATS_WINDOW && !(sum / CGX_STATS_WINDOW <= stats->most_over))
        stats->most_over = sum / CGX_STATS_WINDOW;
}

void cgx_stats_over(struct cgx_stats *stats, double over)
{
    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    /* Before the first choice the widths are those that define the budget. */
    if (stats->plans > 0 && !isnan(over))
        count_over(stats, over);
    pthread_mutex_unlock(&stats->lock);
}

void cgx_stats_plan(struct cgx_stats *stats, const struct cgx_recurrence *recurrence,
                    const struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    struct cgx_stats_choice choice = {.step = adapt->steps,
                                      .cause = due == CGX_ADAPT_SCALED ? CGX_STATS_GUARD
                                                                       : CGX_STATS_PERIOD,
                                      .over = NAN};

    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    for (size_t i = 0; i < adapt->nlayers; i++) {
        const struct cgx_adapt_layer *about = &adapt->layers[i];
        struct cgx_stats_layer *layer;

        if (!about->plan)
            continue;
        layer = layer_of(stats, cgx_recurrence_expects(recurrence, i));
        cgx_adapt_estimate(adapt, about, &layer->error, &layer->budget);
        if (layer != &stats->other)
            follow_plan(layer, about->plan, choice.step, choice.cause);
    }
    count_choice(stats, &choice);
    pthread_mutex_unlock(&stats->lock);
}

/* ---- calls ---- */

/* The bytes of all elements at BITS; max-min quantisation stands for all families. */
static size_t encoded_bytes(const struct cgx_plan *plan, unsigned bits)
{
    return cgx_piece_layout(plan->count, bits, plan->bucket_size, plan->dtype).bytes;
}

static void count_elements(struct cgx_stats_count *count, uint64_t elements)
{
    count->calls++;
    count->elements += elements;
}

static void count_observed(struct cgx_stats_layer *layer, const struct cgx_stats_observed *observed)
{
    layer->plain_seconds += 1e-9 * (double)observed->plain;
    layer->compared += observed->compared;
    layer->square += observed->square;
    layer->norm += observed->norm;
}

static void count_compressed(struct cgx_stats *stats, struct cgx_callsite_key key,
                             const struct cgx_coll *coll, enum cgx_outcome outcome,
                             int64_t nanoseconds, const struct cgx_stats_observed *observed)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    double share = 2.0 * (coll->schedule->ranks - 1) / coll->schedule->ranks;
    bool placed = key.position != CGX_POSITION_NONE;
    struct cgx_stats_layer *layer;

    if (!cgx_plan_is_placed(plan))
        key.position = CGX_POSITION_NONE;
    else if (placed)
        key.rule = 0;
    layer = layer_of(stats, key);
    layer->type = cgx_type_of(plan->dtype);
    layer->segments = plan->nsegments;
    layer->seconds += 1e-9 * (double)nanoseconds;
    layer->sent += (double)coll->sent;
    if (coll->history.scales)
        layer->history = (double)cgx_history_bytes(plan->count, plan->bucket_size);
    if (outcome != CGX_OUTCOME_DONE) {
        bool redone = outcome == CGX_OUTCOME_DECLINED || outcome == CGX_OUTCOME_CONSENSUS;

        layer->redone += redone;
        layer->failed += !redone;
        return;
    }
    if (layer != &stats->other)
        follow_plan(layer, plan, 0, CGX_STATS_BASE);
    if (observed)
        count_observed(layer, observed);
    else
        count_elements(placed ? &stats->placed : &stats->unplaced, plan->count);
    layer->compressed++;
    layer->plain += share * (double)(plan->count * cgx_dtype_size(plan->dtype));
    layer->base += share * (double)encoded_bytes(plan, (unsigned)cgx_config()->bits);
}

void cgx_stats_compressed(struct cgx_stats *stats, struct cgx_callsite_key key,
                          const struct cgx_coll *coll, enum cgx_outcome outcome,
                          int64_t nanoseconds, const struct cgx_stats_observed *observed)
{
    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    count_compressed(stats, key, coll, outcome, nanoseconds, observed);
    pthread_mutex_unlock(&stats->lock);
}

void cgx_stats_exact(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    struct cgx_stats_layer *layer = NULL;

    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    if (key.position != CGX_POSITION_NONE) {
        struct cgx_callsite_key placed = key;

        placed.rule = 0;
        layer = look_up(stats, placed);
    }
    key.position = CGX_POSITION_NONE;
    if (!layer)
        layer = layer_of(stats, key);
    layer->exact++;
    pthread_mutex_unlock(&stats->lock);
}

void cgx_stats_blocked(struct cgx_stats *stats)
{
    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    stats->blocked++;
    pthread_mutex_unlock(&stats->lock);
}

void cgx_stats_reason(struct cgx_stats *stats, enum cgx_reason reason, uint64_t elements)
{
    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    count_elements(&stats->exact[reason], elements);
    pthread_mutex_unlock(&stats->lock);
}

void cgx_stats_step(struct cgx_stats *stats, const struct cgx_recurrence *recurrence,
                    bool begins_step)
{
    static atomic_ullong all_steps; /* of all communicators */
    unsigned long long before;
    bool begins;

    if (!stats)
        return;
    pthread_mutex_lock(&stats->lock);
    stats->evidence = cgx_recurrence_evidence(recurrence, &stats->established);
    stats->step = cgx_recurrence_period(recurrence);
    begins = begins_step || stats->step == 0;
    stats->steps += begins;
    pthread_mutex_unlock(&stats->lock);
    before = begins ? atomic_fetch_add(&all_steps, 1) : 0;
    if (before > 0 && before % (before < 100 ? 10 : 100) == 0)
        cgx_stats_write(CGX_STATS_RUNS);
}
