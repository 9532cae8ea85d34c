/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "util/hash.h"
#include "util/integers.h"

/* The default least width if the family is chosen. */
#define AUTO_LEAST 3

static uint32_t hash_word(uint32_t hash, uint64_t word)
{
    return cgx_hash(hash, &word, sizeof word);
}

static uint32_t hash_plan(const struct cgx_plan *plan)
{
    uint32_t hash = hash_word(CGX_HASH_START, CGX_FORMAT_VERSION);

    hash = hash_word(hash, plan->dtype);
    hash = hash_word(hash, plan->bucket_size);
    hash = hash_word(hash, plan->adaptive);
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
    plan->adaptive = plan->has_alternatives = false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        size_t units = cgx_bucket_count(segment->count, plan->unit);

        segment->before = plan->bytes;
        plan->bytes += units * cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment));
        plan->has_alternatives |= cgx_segment_has_alternative(segment);
        plan->adaptive |= cgx_segment_is_chosen(segment);
    }
    plan->hash = hash_plan(plan);
}

/* ---- widths ---- */

/* Widths in FAMILY, or max-min quantised if it lacks them: BITS at first, then LEAST to MOST. */
static struct cgx_segment widths_in(enum cgx_family family, unsigned bits, unsigned least,
                                    unsigned most)
{
    unsigned widest = cgx_quantisers[family].widths;

    if (bits > widest || least > widest)
        family = CGX_FAMILY_MAXMIN;
    else if (most > widest)
        most = widest;
    return (struct cgx_segment){.bits = (uint8_t)bits,
                                .least = (uint8_t)least,
                                .most = (uint8_t)most,
                                .family = (uint8_t)family};
}

/* WIDTH, or the least width of max-min quantisation that keeps zeros if that is larger. */
static unsigned for_zeros(unsigned width)
{
    return width < CGX_ZEROS_LEAST_BITS ? CGX_ZEROS_LEAST_BITS : width;
}

/* The same if FAMILY may be CGX_FAMILY_AUTO: max-min quantised until the data is known, with the
 * other families as alternatives. */
static struct cgx_segment widths_of(enum cgx_family family, unsigned bits, unsigned least,
                                    unsigned most)
{
    struct cgx_segment maxmin;

    if (family != CGX_FAMILY_AUTO)
        return widths_in(family, bits, least, most);
    maxmin = widths_in(CGX_FAMILY_MAXMIN, for_zeros(bits), for_zeros(least), for_zeros(most));
    for (int f = CGX_FAMILY_MAXMIN + 1; f < CGX_FAMILIES; f++) {
        struct cgx_segment other = widths_in((enum cgx_family)f, bits, least, most);

        if (other.family == f && cgx_quantisers[f].is_choice)
            maxmin.alternatives[f] = (struct cgx_widths){other.bits, other.least, other.most};
    }
    return cgx_segment_has_alternative(&maxmin) ? maxmin
                                                : widths_in(CGX_FAMILY_MAXMIN, bits, least, most);
}

static struct cgx_segment fixed(enum cgx_family family, unsigned bits)
{
    return widths_of(family, bits, bits, bits);
}

static enum cgx_family family_of(const struct cgx_settings *settings,
                                 const struct cgx_override *override)
{
    return override && override->codec != CGX_CODEC_AS_SET
               ? (enum cgx_family)(override->codec - CGX_CODEC(0))
               : settings->codec;
}

/* The widths of layers that have none of their own. */
static struct cgx_segment default_widths(const struct cgx_settings *settings,
                                         const struct cgx_override *override)
{
    unsigned bits = settings->bits;
    unsigned least = cgx_settings_least(settings), most = cgx_settings_most(settings);
    enum cgx_family family = family_of(settings, override);
    bool is_set = override && override->least > 0;

    if (override && override->exact)
        return fixed(family, CGX_BITS_EXACT);
    if (!is_set && (!settings->adaptive || cgx_family_varies(family)))
        return fixed(family, bits);
    if (is_set) {
        least = override->least;
        most = override->most;
    } else if (family == CGX_FAMILY_AUTO && settings->adaptive_bits == 0 && least < AUTO_LEAST) {
        least = bits < AUTO_LEAST ? bits : AUTO_LEAST;
    }
    /* If nothing is chosen, or a range is set, the first width is within the range too. */
    if (is_set || least == most)
        bits = bits < least ? least : bits > most ? most : bits;
    if (!settings->adaptive || cgx_family_varies(family))
        return fixed(family, bits);
    return widths_of(family, bits, least, most);
}

/* ---- segments ---- */

/* The most elements of a segment with these WIDTHS. */
static size_t longest(const struct cgx_segment *widths)
{
    if (cgx_segment_has_alternative(widths))
        return CGX_FAMILY_SEGMENT_ELEMENTS;
    return cgx_segment_is_variable(widths) ? CGX_SEGMENT_ELEMENTS : SIZE_MAX;
}

static void append_segment(struct cgx_plan *plan, struct cgx_segment segment)
{
    struct cgx_segment *last = plan->nsegments > 0 ? &plan->segments[plan->nsegments - 1] : NULL;

    if (last && !cgx_segment_is_chosen(last) && !cgx_segment_is_chosen(&segment) &&
        cgx_segment_encoding(last) == cgx_segment_encoding(&segment))
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

/* Appends a layer with these WIDTHS, which covers the units of elements FIRST to END. A unit that
 * it shares with the layer before goes to the layer with more bits. */
static void append_layer(struct cgx_plan *plan, struct cgx_segment widths, size_t first, size_t end)
{
    while (end_of(plan) > first && widths.bits > plan->segments[plan->nsegments - 1].bits) {
        struct cgx_segment *last = &plan->segments[plan->nsegments - 1];

        if (last->first < first)
            last->count = first - last->first;
        else
            plan->nsegments--;
    }
    for (widths.first = end_of(plan); widths.first < end; widths.first += widths.count) {
        widths.count = cgx_smaller(end - widths.first, longest(&widths));
        append_segment(plan, widths);
    }
}

/* Appends the layers of OVERRIDE, or a single layer. */
static void append_layers(struct cgx_plan *plan, const struct cgx_settings *settings,
                          const struct cgx_override *override)
{
    const struct cgx_layer_list *layers = override ? override->layers : NULL;
    struct cgx_segment widths = default_widths(settings, override);
    size_t element = 0, unit = plan->unit;

    if (!layers)
        append_layer(plan, widths, 0, plan->count);
    for (size_t i = 0; layers && i < layers->nlayers; i++) {
        const struct cgx_layer_size *layer = &layers->layers[i];
        size_t first = element / unit * unit;

        element += layer->count;
        append_layer(plan,
                     layer->bits == 0 ? widths : fixed(family_of(settings, override), layer->bits),
                     first, cgx_smaller(cgx_round_up(element, unit), plan->count));
    }
}

static size_t plan_bytes(size_t nsegments)
{
    return sizeof(struct cgx_plan) + nsegments * sizeof(struct cgx_segment);
}

size_t cgx_plan_most_bytes(const struct cgx_override *override, size_t count)
{
    size_t layers = override && override->layers ? override->layers->nlayers : 1;

    return plan_bytes(count / CGX_FAMILY_SEGMENT_ELEMENTS + layers + 2);
}

/* The elements of the largest bucket of the families that FAMILY stands for. */
static unsigned unit_of(enum cgx_family family, unsigned bucket_size)
{
    unsigned unit = bucket_size;

    for (int f = 0; f < CGX_FAMILIES; f++)
        if ((family == CGX_FAMILY_AUTO ? cgx_quantisers[f].is_choice : (int)family == f) &&
            cgx_quantisers[f].bucket > unit)
            unit = cgx_quantisers[f].bucket;
    return unit;
}

struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count)
{
    struct cgx_plan *plan = memory;

    plan->dtype = dtype;
    plan->bucket_size = settings->bucket_size;
    plan->unit = unit_of(family_of(settings, override), plan->bucket_size);
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
    void *memory = malloc(cgx_plan_most_bytes(override, count));

    return memory ? cgx_plan_create_in(memory, settings, override, dtype, count) : NULL;
}

size_t cgx_plan_bytes(const struct cgx_plan *plan)
{
    return plan_bytes(plan->nsegments);
}

struct cgx_plan *cgx_plan_copy(const struct cgx_plan *plan)
{
    struct cgx_plan *copy = malloc(cgx_plan_bytes(plan));

    return copy ? memcpy(copy, plan, cgx_plan_bytes(plan)) : NULL;
}

static void switch_family(struct cgx_segment *segment, enum cgx_family family)
{
    struct cgx_widths previous = {segment->bits, segment->least, segment->most};

    segment->bits = segment->alternatives[family].bits;
    segment->least = segment->alternatives[family].least;
    segment->most = segment->alternatives[family].most;
    segment->alternatives[family] = (struct cgx_widths){0};
    segment->alternatives[segment->family] = previous;
    segment->family = (uint8_t)family;
}

/* Switches SEGMENT to the alternative with the most bytes, if that has more. */
static void switch_to_largest(const struct cgx_plan *plan, struct cgx_segment *segment)
{
    for (int f = 0; f < CGX_FAMILIES; f++) {
        const struct cgx_widths *other = &segment->alternatives[f];

        if (other->bits > 0 && cgx_plan_unit_bytes(plan, cgx_encoding_of(f, other->bits)) >
                                   cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment)))
            switch_family(segment, (enum cgx_family)f);
    }
}

/* The first width may be outside the range of the choice. */
static void widen(uint8_t *bits, uint8_t *least, uint8_t most)
{
    if (*bits < *least)
        *least = *bits;
    if (most > *bits)
        *bits = most;
}

void cgx_plan_widen(struct cgx_plan *plan)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];

        widen(&segment->bits, &segment->least, segment->most);
        for (struct cgx_widths *other = segment->alternatives;
             other < segment->alternatives + CGX_FAMILIES; other++)
            widen(&other->bits, &other->least, other->most);
        switch_to_largest(plan, segment);
    }
    finish_segments(plan);
}

struct cgx_plan *cgx_plan_widest(const struct cgx_plan *plan)
{
    struct cgx_plan *copy = cgx_plan_copy(plan);

    if (copy)
        cgx_plan_widen(copy);
    return copy;
}

void cgx_plan_set(struct cgx_plan *plan, const uint8_t *encodings)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        enum cgx_family family = cgx_encoding_family(encodings[i]);
        uint8_t width = (uint8_t)cgx_encoding_width(encodings[i]);

        if (segment->alternatives[family].bits > 0)
            switch_family(segment, family);
        if (width >= segment->least && width <= segment->most)
            segment->bits = width;
    }
    finish_segments(plan);
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
