/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What plans make of settings, rules and hints. */
#include "policy/plan.h"
#include "codec/uniform/uniform.h"

#include <stdlib.h>

#include "lib/tap.h"

static const struct cgx_settings settings = {.bits = 4, .bucket_size = 512};

/* The segments in order, without gaps, each but the last of whole buckets. */
static bool covers(const struct cgx_plan *plan)
{
    size_t element = 0;

    for (size_t i = 0; i < plan->nsegments; i++) {
        const struct cgx_segment *segment = &plan->segments[i];

        if (segment->first != element || segment->count == 0 ||
            segment->first % plan->bucket_size != 0)
            return false;
        element += segment->count;
    }
    return element == plan->count;
}

static bool segment_is(const struct cgx_plan *plan, size_t index, size_t count, unsigned bits)
{
    const struct cgx_segment *segment = &plan->segments[index];

    return index < plan->nsegments && segment->count == count && segment->bits == bits;
}

static void test_width(void)
{
    const struct cgx_override override = {.bits = 5}, exact = {.exact = true};
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, 150000);

    ok(covers(plan) && plan->nsegments == 1 && segment_is(plan, 0, 150000, 4),
       "a plan is one segment of the width that is set");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&settings, &override, CGX_FLOAT32, 150000);
    ok(plan->nsegments == 1 && segment_is(plan, 0, 150000, 5), "or of that which is said");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&settings, &exact, CGX_FLOAT32, 150000);
    ok(plan->nsegments == 1 && segment_is(plan, 0, 150000, CGX_BITS_EXACT), "or exact");
    cgx_plan_free(plan);
}

/* What says nothing of widths and layers changes nothing. */
static void test_no_widths(void)
{
    static const struct cgx_override says[] = {
        {.recurs = CGX_RECURS_ALWAYS, .rule = 3},
        {.consensus = CGX_SWITCH_OFF, .rule = 1},
        {.consensus = CGX_SWITCH_ON, .recurs = CGX_RECURS_ALWAYS}};
    struct cgx_plan *plain = cgx_plan_create(&settings, NULL, CGX_FLOAT32, 150000);
    bool same = true;

    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        struct cgx_plan *plan = cgx_plan_create(&settings, &says[i], CGX_FLOAT32, 150000);

        same = same && plan->hash == plain->hash;
        cgx_plan_free(plan);
    }
    cgx_plan_free(plain);
    ok(same, "what says nothing of widths leaves them as they are");
}

static struct cgx_plan *plan_of(const struct cgx_layer_size *layers, size_t nlayers)
{
    struct cgx_layer_list *list = malloc(sizeof *list + nlayers * sizeof list->layers[0]);
    const struct cgx_override override = {.layers = list};
    struct cgx_plan *plan;

    list->total = 0;
    list->nlayers = nlayers;
    for (size_t i = 0; i < nlayers; i++) {
        list->layers[i] = layers[i];
        list->total += layers[i].count;
    }
    plan = cgx_plan_create(&settings, &override, CGX_FLOAT32, list->total);
    free(list);
    return plan;
}

static void test_layers(void)
{
    static const struct cgx_layer_size aligned[] = {{512, 32}, {70144, 0}, {1024, 8}};
    static const struct cgx_layer_size odd[] = {{100, 32}, {1000, 0}, {10, 32}, {5, 2}, {2000, 2}};
    static const struct cgx_layer_size tiny[] = {{1, 3}, {1, 8}, {1, 3}, {600, 5}};
    struct cgx_plan *plan = plan_of(aligned, 3);

    ok(covers(plan) && plan->nsegments == 3 && segment_is(plan, 0, 512, 32) &&
           segment_is(plan, 1, 70144, 4) && segment_is(plan, 2, 1024, 8),
       "layers that are said are followed");
    cgx_plan_free(plan);

    /* Elements 0-99 exact, 100-1099 as set, 1100-1109 exact, 1110-3114 2 bits. */
    plan = plan_of(odd, 5);
    ok(covers(plan) && plan->nsegments == 4 && segment_is(plan, 0, 512, 32) &&
           segment_is(plan, 1, 512, 4) && segment_is(plan, 2, 512, 32) &&
           segment_is(plan, 3, 3115 - 1536, 2),
       "a bucket of several layers has the most bits of them, and layers alike become one segment");
    cgx_plan_free(plan);

    plan = plan_of(tiny, 4);
    ok(covers(plan) && plan->nsegments == 2 && segment_is(plan, 0, 512, 8) &&
           segment_is(plan, 1, 603 - 512, 5),
       "layers within one bucket do not make segments of their own");
    cgx_plan_free(plan);
}

static bool is_uniform(const struct cgx_plan *plan, size_t index, unsigned width)
{
    return cgx_segment_encoding(&plan->segments[index]) == CGX_UNIFORM + width;
}

static void test_families(void)
{
    const struct cgx_override maxmin = {.codec = CGX_CODEC(CGX_FAMILY_MAXMIN)},
                              uniform = {.codec = CGX_CODEC(CGX_FAMILY_UNIFORM)};
    struct cgx_settings other = settings;
    struct cgx_plan *plain = cgx_plan_create(&settings, NULL, CGX_FLOAT32, 150000), *plan;

    other.codec = CGX_FAMILY_UNIFORM;
    plan = cgx_plan_create(&other, NULL, CGX_FLOAT32, 150000);
    ok(covers(plan) && plan->unit == 1024 && is_uniform(plan, 0, 4) && plan->hash != plain->hash,
       "a uniform plan is cut at buckets of 1024");
    ok(cgx_plan_stepped(plan) == 4 && cgx_plan_stepped(plain) == 0, "and has a step");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&other, &maxmin, CGX_FLOAT32, 150000);
    ok(plan->hash == plain->hash && plan->unit == 512, "what is said of a call counts");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&settings, &uniform, CGX_FLOAT32, 150000);
    ok(is_uniform(plan, 0, 4) && plan->unit == 1024, "of either");
    cgx_plan_free(plan);
    other.bucket_size = 4096;
    plan = cgx_plan_create(&other, NULL, CGX_FLOAT32, 150000);
    ok(plan->unit == 4096, "larger buckets of max-min quantisation are not cut");
    cgx_plan_free(plan);
    cgx_plan_free(plain);
}

static void test_segments(void)
{
    static const struct cgx_layer_size layers[] = {{65536, 3}, {65536, 8}, {18928, 5}};
    struct cgx_plan *plan = plan_of(layers, 3);

    ok(cgx_plan_segment(plan, 0) == 0 && cgx_plan_segment(plan, 65535) == 0 &&
           cgx_plan_segment(plan, 65536) == 1 && cgx_plan_segment(plan, 149999) == 2,
       "elements are found in their segments");
    cgx_plan_free(plan);
}

int main(void)
{
    test_width();
    test_no_widths();
    test_layers();
    test_families();
    test_segments();
    return done_testing();
}
