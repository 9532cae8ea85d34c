/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/stats.h"

#include <stdatomic.h>
#include <stdio.h>

#include "codec/encoding.h"
#include "mpi/config.h"
#include "util/float_state.h"

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
    *found = (struct cgx_stats_layer){.key = key, .type = key.type};
    return found;
}

/* Sets LAYER's widths to those of PLAN's segments: "1x3,1x8" or, with the mark of a family, "1xu4".
 * A long text is cut and ends in "...". */
static void set_widths(struct cgx_stats_layer *layer, const struct cgx_plan *plan)
{
    struct cgx_segment segment = cgx_plan_first(plan);
    const size_t size = sizeof layer->widths;
    size_t used = 0;

    if (layer->plan == plan->hash && layer->widths[0] != '\0')
        return;
    layer->plan = plan->hash;
    do {
        if (size - used < 32) {
            snprintf(layer->widths + used, size - used, ",...");
            return;
        }
        used += (size_t)snprintf(layer->widths + used, size - used, "%s1x%s%u", used > 0 ? "," : "",
                                 cgx_encoding_quantiser(segment.encoding)->mark,
                                 cgx_encoding_width(segment.encoding));
    } while (cgx_plan_next(plan, &segment));
}

/* ---- calls ---- */

static void count_elements(struct cgx_stats_count *count, uint64_t elements)
{
    count->calls++;
    count->elements += elements;
}

static void count_compressed(struct cgx_stats *stats, const struct cgx_record *record)
{
    const struct cgx_plan *plan = record->plan;
    const double share = 2.0 * (stats->size - 1) / stats->size;
    struct cgx_callsite_key key = *record->site;
    bool placed = key.position != CGX_POSITION_NONE;
    struct cgx_stats_layer *layer;

    if (!plan->has_history && plan->uniform_width == 0)
        key.position = CGX_POSITION_NONE;
    else if (placed)
        key.rule = 0;
    layer = layer_of(stats, key);
    layer->type = cgx_type_of(plan->dtype);
    layer->segments = plan->nsegments;
    layer->seconds += 1e-9 * (double)cgx_span_nanoseconds(&record->run);
    layer->sent += (double)record->sent;
    if (record->history > 0)
        layer->history = (double)record->history;
    if (record->outcome != CGX_OUTCOME_DONE) {
        bool redone =
            record->outcome == CGX_OUTCOME_DECLINED || record->outcome == CGX_OUTCOME_HELD;

        layer->redone += redone;
        layer->failed += !redone;
        return;
    }
    if (layer != &stats->other)
        set_widths(layer, plan);
    if (record->reason)
        layer->plain_seconds += 1e-9 * (double)cgx_span_nanoseconds(&record->exact);
    else
        count_elements(placed ? &stats->placed : &stats->unplaced, plan->count);
    layer->compared += record->compared;
    layer->square += record->square;
    layer->norm += record->norm;
    layer->compressed++;
    layer->plain += share * (double)(plan->count * cgx_dtype_size(plan->dtype));
    layer->elements += share * (double)plan->count;
    if (record->quantised.energy > 0 && isfinite(record->quantised.energy)) {
        layer->quantised++;
        layer->errors += record->quantised.noise / record->quantised.energy;
    }
}

/* Counts a recurring call that was exact from the start: at its position, if calls there have been
 * compressed. */
static void count_exact(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    struct cgx_callsite_key placed = key;
    struct cgx_stats_layer *layer;

    placed.rule = 0;
    layer = key.position == CGX_POSITION_NONE ? NULL : look_up(stats, placed);
    key.position = CGX_POSITION_NONE;
    if (!layer)
        layer = layer_of(stats, key);
    layer->exact++;
}

void cgx_stats_count(struct cgx_stats *stats, const struct cgx_record *record)
{
    union cgx_float_state caller;

    pthread_mutex_lock(&stats->lock);
    if (record->plan) {
        cgx_float_enter(&caller);
        count_compressed(stats, record);
        cgx_float_leave(&caller);
    } else if (record->recurs) {
        count_exact(stats, *record->site);
    }
    if (record->reason)
        count_elements(&stats->exact[record->reason], (uint64_t)record->request->count);
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
