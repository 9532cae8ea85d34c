/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/stats.h"

/* ---- layers ---- */

static bool is_same(struct cgx_callsite_key a, struct cgx_callsite_key b)
{
    return a.position == b.position && a.count == b.count && a.type == b.type && a.rule == b.rule;
}

/* The layer of KEY, made if it is new; NULL if the table is full. The search begins behind the
 * layer of the last call, since steps repeat their calls in order. */
static struct cgx_stats_layer *layer_of(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    for (size_t i = 0; i < stats->nlayers; i++) {
        stats->last = (stats->last + 1) % stats->nlayers;
        if (is_same(stats->layers[stats->last].key, key))
            return &stats->layers[stats->last];
    }
    if (stats->nlayers == CGX_STATS_LAYERS)
        return NULL;
    stats->last = stats->nlayers++;
    stats->layers[stats->last] = (struct cgx_stats_layer){.key = key};
    return &stats->layers[stats->last];
}

/* ---- calls ---- */

void cgx_stats_count(struct cgx_stats *stats, const struct cgx_record *record)
{
    const struct cgx_plan *plan = record->plan;
    const double share = 2.0 * (stats->size - 1) / stats->size;
    struct cgx_callsite_key key = *record->site;
    struct cgx_stats_layer *layer;

    if (plan->uniform_width == 0)
        key.position = CGX_POSITION_NONE;
    else if (key.position != CGX_POSITION_NONE)
        key.rule = 0;
    layer = layer_of(stats, key);
    if (!layer) {
        stats->unlisted++;
        return;
    }
    layer->type = cgx_type_of(plan->dtype);
    layer->seconds += 1e-9 * (double)cgx_span_nanoseconds(&record->run);
    layer->sent += (double)record->sent;
    if (record->outcome != CGX_OUTCOME_DONE) {
        bool redone =
            record->outcome == CGX_OUTCOME_DECLINED || record->outcome == CGX_OUTCOME_HELD;

        layer->redone += redone;
        layer->failed += !redone;
        return;
    }
    if (record->reason)
        layer->plain_seconds += 1e-9 * (double)cgx_span_nanoseconds(&record->exact);
    layer->compared += record->compared;
    layer->square += record->square;
    layer->norm += record->norm;
    layer->compressed++;
    layer->plain += share * (double)(plan->count * cgx_dtype_size(plan->dtype));
    if (record->quantised.energy > 0 && isfinite(record->quantised.energy)) {
        layer->quantised++;
        layer->errors += record->quantised.noise / record->quantised.energy;
    }
}
