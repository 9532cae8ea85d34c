/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/rotated.h"
#include "util/hash.h"
#include "util/integers.h"

/* Where the family is chosen no fewer bits are unless somebody says so. */
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
    hash = hash_word(hash, plan->rounding);
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

/* Sets what follows from the segments. */
static void finish(struct cgx_plan *plan)
{
    plan->bytes = 0;
    plan->adaptive = plan->turns = false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        size_t units = cgx_bucket_count(segment->count, plan->unit);

        segment->before = plan->bytes;
        plan->bytes += units * cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment));
        plan->turns |= cgx_segment_turns(segment);
        plan->adaptive |= cgx_segment_is_chosen(segment);
    }
    plan->hash = hash_plan(plan);
}

/* ---- widths ---- */

/* The least width that rounding allows. */
static unsigned allowed(const struct cgx_settings *settings, unsigned bits)
{
    unsigned least = cgx_encoding_least(settings->rounding);

    return bits > least ? bits : least;
}

/* Of BITS, or from LEAST to MOST: rotated, if FAMILY says so, as far as that family has them. */
static struct cgx_segment widths_in(enum cgx_family family, unsigned bits, unsigned least,
                                    unsigned most)
{
    if (bits > CGX_ROTATED_WIDTHS || least > CGX_ROTATED_WIDTHS)
        family = CGX_FAMILY_MAXMIN;
    if (family == CGX_FAMILY_ROTATED && most > CGX_ROTATED_WIDTHS)
        most = CGX_ROTATED_WIDTHS;
    return (struct cgx_segment){.bits = (uint8_t)bits,
                                .least = (uint8_t)least,
                                .most = (uint8_t)most,
                                .family = (uint8_t)family};
}

/* WIDTH, brought to what is max-min quantised for the sake of its data. */
static unsigned unturned(unsigned width)
{
    return width < CGX_UNTURNED_BITS ? CGX_UNTURNED_BITS : width;
}

/* The same where FAMILY may be chosen: max-min quantised until the data is known. */
static struct cgx_segment widths_of(enum cgx_family family, unsigned bits, unsigned least,
                                    unsigned most)
{
    struct cgx_segment rotated, maxmin;

    if (family != CGX_FAMILY_AUTO)
        return widths_in(family, bits, least, most);
    rotated = widths_in(CGX_FAMILY_ROTATED, bits, least, most);
    if (rotated.family != CGX_FAMILY_ROTATED)
        return rotated;
    maxmin = widths_in(CGX_FAMILY_MAXMIN, unturned(bits), unturned(least), unturned(most));
    maxmin.turned = (struct cgx_widths){rotated.bits, rotated.least, rotated.most};
    return maxmin;
}

static struct cgx_segment fixed(enum cgx_family family, unsigned bits)
{
    return widths_of(family, bits, bits, bits);
}

/* With history there is nothing to choose: max-min quantisation gains more by it. */
static enum cgx_family family_of(const struct cgx_settings *settings,
                                 const struct cgx_override *override)
{
    enum cgx_said_codec codec = override ? override->codec : CGX_CODEC_AS_SET;
    enum cgx_family family = settings->codec;

    if (codec != CGX_CODEC_AS_SET)
        family = (enum cgx_family)(codec - CGX_CODEC_MAXMIN);
    return family == CGX_FAMILY_AUTO && settings->history ? CGX_FAMILY_MAXMIN : family;
}

/* The widths of what nothing more is said about. */
static struct cgx_segment default_widths(const struct cgx_settings *settings,
                                         const struct cgx_override *override)
{
    unsigned bits = settings->bits;
    unsigned least = cgx_settings_least(settings), most = cgx_settings_most(settings);
    enum cgx_family family = family_of(settings, override);
    bool said = override && override->least > 0;

    if (override && override->exact)
        return fixed(family, CGX_BITS_EXACT);
    if (!said && !settings->adaptive)
        return fixed(family, bits);
    if (said) {
        least = allowed(settings, override->least);
        most = allowed(settings, override->most);
    } else if (family == CGX_FAMILY_AUTO && settings->adaptive_bits == 0 && least < AUTO_LEAST) {
        least = bits < AUTO_LEAST ? bits : AUTO_LEAST;
    }
    /* Where there is nothing to choose the width is had from the start. */
    if (said || least == most)
        bits = bits < least ? least : bits > most ? most : bits;
    if (!settings->adaptive)
        return fixed(family, bits);
    return widths_of(family, bits, least, most);
}

/* ---- segments ---- */

/* Elements that a segment like WIDTHS has at most. */
static size_t longest(const struct cgx_segment *widths)
{
    if (cgx_segment_turns(widths))
        return CGX_TURNING_ELEMENTS;
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

/* Of the elements that have a segment. */
static size_t end_of(const struct cgx_plan *plan)
{
    size_t n = plan->nsegments;

    return n > 0 ? plan->segments[n - 1].first + plan->segments[n - 1].count : 0;
}

/* Appends the units of a layer of these WIDTHS, which are those from FIRST to END: one that it
 * shares with the layer before it goes to the one with more bits. */
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
        widths.count = end - widths.first;
        if (widths.count > longest(&widths))
            widths.count = longest(&widths);
        append_segment(plan, widths);
    }
}

/* The layers of OVERRIDE, or one, up to END. */
static void append_layers(struct cgx_plan *plan, const struct cgx_settings *settings,
                          const struct cgx_override *override, size_t end)
{
    const struct cgx_layer_list *layers = override ? override->layers : NULL;
    struct cgx_segment widths = default_widths(settings, override);
    size_t element = 0, unit = plan->unit;

    if (!layers)
        append_layer(plan, widths, 0, end);
    for (size_t i = 0; layers && i < layers->nlayers; i++) {
        const struct cgx_layer_size *layer = &layers->layers[i];
        size_t first = element / unit * unit, stop;

        element += layer->count;
        stop = cgx_round_up(element, unit);
        append_layer(plan,
                     layer->bits == 0
                         ? widths
                         : fixed(family_of(settings, override), allowed(settings, layer->bits)),
                     first, stop < end ? stop : end);
    }
}

static size_t plan_bytes(size_t nsegments)
{
    return sizeof(struct cgx_plan) + nsegments * sizeof(struct cgx_segment);
}

size_t cgx_plan_most_bytes(const struct cgx_override *override, size_t count)
{
    size_t layers = override && override->layers ? override->layers->nlayers : 1;

    return plan_bytes(count / CGX_TURNING_ELEMENTS + layers + 2);
}

/* Whether SEGMENT may have residuals: not where it is max-min quantised by chance, or at 1 bit. */
static bool may_feed(const struct cgx_plan *plan, const struct cgx_segment *segment)
{
    if (segment->family == CGX_FAMILY_ROTATED || cgx_segment_turns(segment))
        return true;
    return plan->rounding == CGX_ROUNDING_NEAREST && segment->most <= CGX_WIDTHS &&
           segment->most >= 2;
}

struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count)
{
    struct cgx_plan *plan = memory;
    size_t tail;

    plan->dtype = dtype;
    plan->bucket_size = plan->unit = settings->bucket_size;
    if (family_of(settings, override) != CGX_FAMILY_MAXMIN && plan->unit < CGX_ROTATED_BUCKET)
        plan->unit = CGX_ROTATED_BUCKET;
    plan->rounding = settings->rounding;
    plan->count = count;
    plan->nsegments = 0;
    plan->feeds = plan->recalls = false;
    tail = settings->skip_incomplete_buckets ? count % plan->unit : 0;
    append_layers(plan, settings, override, count - tail);
    append_layer(plan, fixed(CGX_FAMILY_MAXMIN, CGX_BITS_EXACT), count - tail, count);
    finish(plan);
    for (size_t i = 0; i < plan->nsegments && settings->error_feedback; i++)
        plan->feeds |= may_feed(plan, &plan->segments[i]);
    for (size_t i = 0; i < plan->nsegments && settings->history; i++)
        plan->recalls |= cgx_encoding_has_bounds(cgx_segment_encoding(&plan->segments[i]));
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

    if (copy)
        memcpy(copy, plan, cgx_plan_bytes(plan));
    return copy;
}

static void turn(struct cgx_segment *segment)
{
    struct cgx_widths had = {segment->bits, segment->least, segment->most};

    segment->bits = segment->turned.bits;
    segment->least = segment->turned.least;
    segment->most = segment->turned.most;
    segment->turned = had;
    segment->family = segment->family == CGX_FAMILY_MAXMIN ? CGX_FAMILY_ROTATED : CGX_FAMILY_MAXMIN;
}

/* Turns SEGMENT, if it can, to what is sent with more bytes. */
static void turn_to_larger(const struct cgx_plan *plan, struct cgx_segment *segment)
{
    struct cgx_segment other = *segment;

    if (!cgx_segment_turns(segment))
        return;
    turn(&other);
    if (cgx_plan_unit_bytes(plan, cgx_segment_encoding(&other)) >
        cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment)))
        *segment = other;
}

void cgx_plan_widen(struct cgx_plan *plan)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];

        /* The base width, which is used at first, may be none of those that may be chosen. */
        if (segment->bits < segment->least)
            segment->least = segment->bits;
        if (segment->turned.bits < segment->turned.least)
            segment->turned.least = segment->turned.bits;
        if (segment->most > segment->bits)
            segment->bits = segment->most;
        if (segment->turned.most > segment->turned.bits)
            segment->turned.bits = segment->turned.most;
        turn_to_larger(plan, segment);
    }
    finish(plan);
}

struct cgx_plan *cgx_plan_widest(const struct cgx_plan *plan)
{
    struct cgx_plan *widest = cgx_plan_copy(plan);

    if (widest)
        cgx_plan_widen(widest);
    return widest;
}

void cgx_plan_set(struct cgx_plan *plan, const uint8_t *encodings)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        uint8_t width;

        if (cgx_segment_turns(segment) && cgx_encoding_family(encodings[i]) != segment->family)
            turn(segment);
        width = (uint8_t)cgx_encoding_width(encodings[i]);
        if (width >= segment->least && width <= segment->most)
            segment->bits = width;
    }
    finish(plan);
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
