/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "util/hash.h"
#include "util/integers.h"

static uint32_t hash_word(uint32_t hash, uint64_t word)
{
    return cgx_hash(hash, &word, sizeof word);
}

static uint32_t hash_plan(const struct cgx_plan *plan)
{
    uint32_t hash = hash_word(CGX_HASH_START, CGX_FORMAT_VERSION);

    hash = hash_word(hash, plan->dtype);
    hash = hash_word(hash, plan->bucket_size);
    hash = hash_word(hash, plan->count);
    for (size_t i = 0; i < plan->nsegments; i++) {
        hash = hash_word(hash, plan->segments[i].first);
        hash = hash_word(hash, cgx_segment_encoding(&plan->segments[i]));
    }
    return hash;
}

size_t cgx_plan_unit_bytes(const struct cgx_plan *plan, unsigned encoding)
{
    return cgx_encoding_bytes(encoding, plan->bucket_size, plan->dtype, plan->unit);
}

static void finish_segments(struct cgx_plan *plan)
{
    plan->bytes = 0;
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        size_t units = cgx_bucket_count(segment->count, plan->unit);

        segment->before = plan->bytes;
        plan->bytes += units * cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment));
    }
    plan->hash = hash_plan(plan);
}

/* ---- widths ---- */

/* BITS in FAMILY; unquantised elements have none, which is the first. */
static struct cgx_segment width_in(enum cgx_family family, unsigned bits)
{
    if (bits > cgx_quantisers[family].widths)
        family = CGX_FAMILY_MAXMIN;
    return (struct cgx_segment){.bits = (uint8_t)bits, .family = (uint8_t)family};
}

static enum cgx_family family_of(const struct cgx_settings *settings,
                                 const struct cgx_override *override)
{
    return override && override->codec != CGX_CODEC_AS_SET
               ? (enum cgx_family)(override->codec - CGX_CODEC(0))
               : settings->codec;
}

/* The width of layers that have none of their own. */
static unsigned default_bits(const struct cgx_settings *settings,
                             const struct cgx_override *override)
{
    if (override && override->exact)
        return CGX_BITS_EXACT;
    return override && override->bits > 0 ? override->bits : settings->bits;
}

/* ---- segments ---- */

static void append_segment(struct cgx_plan *plan, struct cgx_segment segment)
{
    struct cgx_segment *last = plan->nsegments > 0 ? &plan->segments[plan->nsegments - 1] : NULL;

    if (last && cgx_segment_encoding(last) == cgx_segment_encoding(&segment))
        last->count += segment.count;
    else
        plan->segments[plan->nsegments++] = segment;
}

/* The number of elements that have a segment. */
static size_t end_of(const struct cgx_plan *plan)
{
    size_t n = plan->nsegments;

    return n > 0 ? plan->segments[n - 1].first + plan->segments[n - 1].count : 0;
}

/* Appends a LAYER of this width, which covers the units of elements FIRST to END. A unit that
 * it shares with the layer before goes to the layer with more bits. */
static void append_layer(struct cgx_plan *plan, struct cgx_segment layer, size_t first, size_t end)
{
    while (end_of(plan) > first && layer.bits > plan->segments[plan->nsegments - 1].bits) {
        struct cgx_segment *last = &plan->segments[plan->nsegments - 1];

        if (last->first < first)
            last->count = first - last->first;
        else
            plan->nsegments--;
    }
    layer.first = end_of(plan);
    layer.count = end - layer.first;
    if (layer.first < end)
        append_segment(plan, layer);
}

/* Appends the layers of OVERRIDE, or a single layer. */
static void append_layers(struct cgx_plan *plan, const struct cgx_settings *settings,
                          const struct cgx_override *override)
{
    const struct cgx_layer_list *layers = override ? override->layers : NULL;
    enum cgx_family family = family_of(settings, override);
    unsigned bits = default_bits(settings, override);
    size_t element = 0, unit = plan->unit;

    if (!layers)
        append_layer(plan, width_in(family, bits), 0, plan->count);
    for (size_t i = 0; layers && i < layers->nlayers; i++) {
        const struct cgx_layer_size *layer = &layers->layers[i];
        size_t first = element / unit * unit;

        element += layer->count;
        append_layer(plan, width_in(family, layer->bits == 0 ? bits : layer->bits), first,
                     cgx_smaller(cgx_round_up(element, unit), plan->count));
    }
}

size_t cgx_plan_most_bytes(const struct cgx_override *override)
{
    size_t layers = override && override->layers ? override->layers->nlayers : 1;

    return sizeof(struct cgx_plan) + layers * sizeof(struct cgx_segment);
}

struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count)
{
    struct cgx_plan *plan = memory;

    plan->dtype = dtype;
    plan->bucket_size = settings->bucket_size;
    plan->unit = (unsigned)cgx_larger(cgx_quantisers[family_of(settings, override)].bucket,
                                      plan->bucket_size);
    plan->count = count;
    plan->nsegments = 0;
    plan->has_history = false;
    append_layers(plan, settings, override);
    finish_segments(plan);
    for (size_t i = 0; settings->history != CGX_HISTORY_NEVER && i < plan->nsegments; i++)
        plan->has_history |= plan->segments[i].bits != CGX_BITS_EXACT;
    return plan;
}

struct cgx_plan *cgx_plan_create(const struct cgx_settings *settings,
                                 const struct cgx_override *override, enum cgx_dtype dtype,
                                 size_t count)
{
    void *memory = malloc(cgx_plan_most_bytes(override));

    return memory ? cgx_plan_create_in(memory, settings, override, dtype, count) : NULL;
}

size_t cgx_plan_segment(const struct cgx_plan *plan, size_t element)
{
    size_t low = 0, high = plan->nsegments;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (plan->segments[middle].first <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void cgx_plan_free(struct cgx_plan *plan)
{
    free(plan);
}
