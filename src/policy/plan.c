/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "util/hash.h"

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
        hash = hash_word(hash, plan->segments[i].bits);
    }
    return hash;
}

size_t cgx_plan_bucket_bytes(const struct cgx_plan *plan, unsigned bits)
{
    return cgx_encoding_bucket_bytes(bits, plan->bucket_size, plan->dtype);
}

/* Sets what follows from the segments. */
static void finish(struct cgx_plan *plan)
{
    plan->bytes = 0;
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        size_t buckets = cgx_bucket_count(segment->count, plan->bucket_size);

        segment->before = plan->bytes;
        plan->bytes += buckets * cgx_plan_bucket_bytes(plan, segment->bits);
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

static struct cgx_segment fixed(unsigned bits)
{
    return (struct cgx_segment){
        .bits = (uint8_t)bits, .least = (uint8_t)bits, .most = (uint8_t)bits};
}

/* The widths of what nothing more is said about. */
static struct cgx_segment default_widths(const struct cgx_settings *settings,
                                         const struct cgx_override *override)
{
    unsigned bits = (unsigned)settings->bits;
    unsigned least = cgx_settings_least(settings), most = cgx_settings_most(settings);
    bool said = override && override->least > 0;

    if (override && override->exact)
        return fixed(CGX_BITS_EXACT);
    if (!said && (!settings->adaptive || bits == CGX_BITS_EXACT))
        return fixed(bits);
    if (said) {
        least = allowed(settings, override->least);
        most = allowed(settings, override->most);
    }
    /* Where there is nothing to choose the width is had from the start. */
    if (said || least == most)
        bits = bits < least ? least : bits > most ? most : bits;
    if (!settings->adaptive)
        return fixed(bits);
    return (struct cgx_segment){
        .bits = (uint8_t)bits, .least = (uint8_t)least, .most = (uint8_t)most};
}

/* ---- segments ---- */

/* A run of buckets with the same widths, while segments are made of it. */
struct run {
    size_t first, end; /* buckets */
    struct cgx_segment widths;
};

/* Appends the layer's buckets: one that it shares with the layer before it goes to the one with
 * more bits. */
static void append_run(struct run *runs, size_t *nruns, struct run layer)
{
    while (*nruns > 0 && runs[*nruns - 1].end > layer.first &&
           layer.widths.bits > runs[*nruns - 1].widths.bits) {
        runs[*nruns - 1].end = layer.first;
        if (runs[*nruns - 1].first < layer.first)
            break;
        --*nruns;
    }
    if (*nruns > 0 && runs[*nruns - 1].end > layer.first)
        layer.first = runs[*nruns - 1].end;
    if (layer.first < layer.end)
        runs[(*nruns)++] = layer;
}

static size_t collect_runs(const struct cgx_settings *settings, const struct cgx_override *override,
                           size_t count, struct run *runs)
{
    struct cgx_segment widths = default_widths(settings, override);
    unsigned bucket_size = settings->bucket_size;
    size_t nruns = 0, element = 0;

    if (!override || !override->layers) {
        runs[0] = (struct run){0, (count + bucket_size - 1) / bucket_size, widths};
        return 1;
    }
    for (size_t i = 0; i < override->layers->nlayers; i++) {
        const struct cgx_layer_size *layer = &override->layers->layers[i];
        size_t end = element + layer->count;

        append_run(runs, &nruns,
                   (struct run){element / bucket_size, (end + bucket_size - 1) / bucket_size,
                                layer->bits == 0 ? widths : fixed(allowed(settings, layer->bits))});
        element = end;
    }
    return nruns;
}

static void append_segment(struct cgx_plan *plan, struct cgx_segment segment)
{
    struct cgx_segment *last = plan->nsegments > 0 ? &plan->segments[plan->nsegments - 1] : NULL;

    if (last && !cgx_segment_is_variable(last) && !cgx_segment_is_variable(&segment) &&
        last->bits == segment.bits) {
        last->count += segment.count;
        return;
    }
    plan->adaptive = plan->adaptive || cgx_segment_is_variable(&segment);
    plan->segments[plan->nsegments++] = segment;
}

/* Elements from the first of RUN to its end or END, in segments. */
static void append_segments(struct cgx_plan *plan, const struct run *run, size_t end)
{
    struct cgx_segment segment = run->widths;
    size_t stop = run->end * plan->bucket_size;

    if (stop > end)
        stop = end;
    for (segment.first = run->first * plan->bucket_size; segment.first < stop;
         segment.first += segment.count) {
        segment.count = stop - segment.first;
        if (cgx_segment_is_variable(&segment) && segment.count > CGX_SEGMENT_ELEMENTS)
            segment.count = CGX_SEGMENT_ELEMENTS;
        append_segment(plan, segment);
    }
}

static size_t plan_bytes(size_t nsegments)
{
    return sizeof(struct cgx_plan) + nsegments * sizeof(struct cgx_segment);
}

static size_t layers_of(const struct cgx_override *override)
{
    return override && override->layers ? override->layers->nlayers : 1;
}

/* At the most, of COUNT elements. */
static size_t segments_of(const struct cgx_override *override, size_t count)
{
    return count / CGX_SEGMENT_ELEMENTS + layers_of(override) + 2;
}

size_t cgx_plan_most_bytes(const struct cgx_override *override, size_t count)
{
    return plan_bytes(segments_of(override, count)) + layers_of(override) * sizeof(struct run);
}

struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count)
{
    size_t tail = settings->skip_incomplete_buckets ? count % settings->bucket_size : 0;
    struct cgx_plan *plan = memory;
    struct run *runs = (void *)((unsigned char *)memory + plan_bytes(segments_of(override, count)));
    size_t nruns;

    plan->dtype = dtype;
    plan->bucket_size = settings->bucket_size;
    plan->rounding = settings->rounding;
    plan->adaptive = false;
    plan->count = count;
    plan->nsegments = 0;
    nruns = collect_runs(settings, override, count, runs);
    for (size_t i = 0; i < nruns; i++)
        append_segments(plan, &runs[i], count - tail);
    if (tail > 0) {
        struct cgx_segment segment = fixed(CGX_BITS_EXACT);

        segment.first = count - tail;
        segment.count = tail;
        append_segment(plan, segment);
    }
    finish(plan);
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

void cgx_plan_widen(struct cgx_plan *plan)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];

        /* The base width, which is used at first, may be none of those that may be chosen. */
        if (segment->bits < segment->least)
            segment->least = segment->bits;
        if (segment->most > segment->bits)
            segment->bits = segment->most;
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

void cgx_plan_set(struct cgx_plan *plan, const uint8_t *widths)
{
    for (size_t i = 0; i < plan->nsegments; i++)
        plan->segments[i].bits = widths[i];
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
