/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/stats.h"

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

/* The layer of KEY, made if it is new; NULL if the table is full. */
static struct cgx_stats_layer *layer_of(struct cgx_stats *stats, struct cgx_callsite_key key)
{
    uint32_t *slot = slot_of(stats, key);

    if (*slot == 0) {
        if (stats->nlayers == CGX_STATS_LAYERS)
            return NULL;
        stats->layers[stats->nlayers] = (struct cgx_stats_layer){.key = key};
        *slot = (uint32_t)++stats->nlayers;
    }
    return &stats->layers[*slot - 1];
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
