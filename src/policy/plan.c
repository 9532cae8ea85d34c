/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/plan.h"

#include "util/hash.h"
#include "util/integers.h"

/* ---- segments ---- */

/* The encoding of BITS in the plan's family; unquantised elements have no family. */
static unsigned encoding_of(const struct cgx_plan *plan, unsigned bits)
{
    return cgx_encoding_of(
        bits > cgx_quantisers[plan->family].widths ? CGX_FAMILY_MAXMIN : plan->family, bits);
}

static unsigned bits_of(const struct cgx_plan *plan, size_t layer)
{
    unsigned bits = plan->layers->layers[layer].bits;

    return bits > 0 ? bits : plan->bits;
}

/* Appends units of equal width to SEGMENT, which ends before the last element, and returns their
 * encoding: units of the next layer alone, or one with elements of several layers. */
static unsigned append_units(const struct cgx_plan *plan, struct cgx_segment *segment)
{
    const struct cgx_layer_size *layers = plan->layers->layers;
    size_t from = segment->first + segment->count;
    size_t end = segment->layer_first + layers[segment->layer].count;
    size_t stop = end == plan->count ? end : end / plan->unit * plan->unit;
    unsigned bits = bits_of(plan, segment->layer);

    if (stop <= from)
        stop = cgx_smaller(from + plan->unit, plan->count);
    while (end <= stop && end < plan->count) {
        segment->layer_first = end;
        end += layers[++segment->layer].count;
        if (segment->layer_first < stop)
            bits = (unsigned)cgx_larger(bits, bits_of(plan, segment->layer));
    }
    segment->count = stop - segment->first;
    return encoding_of(plan, bits);
}

/* The segment that begins where EMPTY, a segment without elements, begins. */
static struct cgx_segment segment_at(const struct cgx_plan *plan, struct cgx_segment empty)
{
    struct cgx_segment segment = empty, longer;

    segment.encoding = encoding_of(plan, plan->bits);
    segment.count = plan->count;
    if (!plan->layers)
        return segment;
    segment.count = 0;
    segment.encoding = append_units(plan, &segment);
    for (longer = segment; longer.first + longer.count < plan->count; segment = longer) {
        if (append_units(plan, &longer) != segment.encoding)
            break;
    }
    return segment;
}

struct cgx_segment cgx_plan_first(const struct cgx_plan *plan)
{
    return segment_at(plan, (struct cgx_segment){.first = 0});
}

static size_t units_of(const struct cgx_plan *plan, const struct cgx_segment *segment)
{
    return cgx_bucket_count(segment->count, plan->unit);
}

bool cgx_plan_next(const struct cgx_plan *plan, struct cgx_segment *segment)
{
    struct cgx_segment next = *segment;

    next.first += segment->count;
    if (next.first == plan->count)
        return false;
    next.before += units_of(plan, segment) * cgx_plan_unit_bytes(plan, segment->encoding);
    next.count = 0;
    *segment = segment_at(plan, next);
    return true;
}

/* ---- plans ---- */

static uint32_t hash_word(uint32_t hash, uint64_t word)
{
    return cgx_hash(hash, &word, sizeof word);
}

static void add_segment(struct cgx_plan *plan, const struct cgx_segment *segment)
{
    const struct cgx_quantiser *quantiser = cgx_encoding_quantiser(segment->encoding);
    unsigned width = cgx_encoding_width(segment->encoding);
    size_t unit = cgx_plan_unit_bytes(plan, segment->encoding), units = units_of(plan, segment);

    plan->nsegments++;
    plan->bytes += units * unit;
    plan->sent += units * (quantiser->has_variable_size ? plan->unit / 8 * width : unit);
    plan->least = cgx_smaller(unit, plan->least);
    plan->widest = cgx_larger(unit, plan->widest);
    if (quantiser->has_variable_size && plan->uniform_width == 0)
        plan->uniform_width = width;
    plan->has_history |= quantiser->has_history;
    plan->hash = hash_word(hash_word(plan->hash, segment->first), segment->encoding);
}

struct cgx_plan cgx_plan_of(const struct cgx_settings *settings,
                            const struct cgx_override *override, enum cgx_dtype dtype, size_t count)
{
    static const struct cgx_override none = {.bits = 0};
    const struct cgx_override *said = override ? override : &none;
    struct cgx_plan plan = {.dtype = dtype,
                            .family = said->codec != CGX_CODEC_AS_SET
                                          ? (enum cgx_family)(said->codec - CGX_CODEC(0))
                                          : settings->codec,
                            .bits = said->bits > 0 ? said->bits : (unsigned)settings->bits,
                            .layers = said->layers,
                            .count = count,
                            .least = SIZE_MAX,
                            .hash = hash_word(CGX_HASH_START, CGX_FORMAT_VERSION)};
    struct cgx_segment segment;

    plan.unit = cgx_quantisers[plan.family].bucket;
    plan.hash = hash_word(plan.hash, dtype);
    plan.hash = hash_word(plan.hash, count);
    segment = cgx_plan_first(&plan);
    do
        add_segment(&plan, &segment);
    while (cgx_plan_next(&plan, &segment));
    plan.has_history = plan.has_history && settings->history != CGX_HISTORY_NEVER;
    return plan;
}
