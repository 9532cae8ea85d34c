/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What plans make of settings, rules and hints. */
#include "policy/plan.h"
#include "codec/uniform/uniform.h"

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static const struct cgx_settings settings = {.bits = 4};

/* The segments in order, without gaps, each but the last of whole units, and none like the next. */
static bool covers(const struct cgx_plan *plan)
{
    struct cgx_segment segment = cgx_plan_first(plan);
    size_t element = 0, count = 0;
    unsigned before = 0;

    do {
        if (segment.first != element || segment.count == 0 || segment.first % plan->unit != 0 ||
            segment.encoding == before)
            return false;
        before = segment.encoding;
        element += segment.count;
        count++;
    } while (cgx_plan_next(plan, &segment));
    return element == plan->count && count == plan->nsegments;
}

static bool segment_is(const struct cgx_plan *plan, size_t index, size_t count, unsigned encoding)
{
    struct cgx_segment segment = cgx_plan_first(plan);

    for (size_t i = 0; i < index; i++) {
        if (!cgx_plan_next(plan, &segment))
            return false;
    }
    return segment.count == count && segment.encoding == encoding;
}

static void test_width(void)
{
    const struct cgx_override override = {.bits = 5}, exact = {.bits = CGX_BITS_EXACT};
    struct cgx_plan plan = cgx_plan_of(&settings, NULL, CGX_FLOAT32, 150000);

    ok(covers(&plan) && plan.nsegments == 1 && segment_is(&plan, 0, 150000, 4),
       "a plan is one segment of the width that is set");
    plan = cgx_plan_of(&settings, &override, CGX_FLOAT32, 150000);
    ok(plan.nsegments == 1 && segment_is(&plan, 0, 150000, 5), "or of that which is said");
    plan = cgx_plan_of(&settings, &exact, CGX_FLOAT32, 150000);
    ok(plan.nsegments == 1 && segment_is(&plan, 0, 150000, CGX_BITS_EXACT), "or exact");
}

/* What says nothing of widths and layers changes nothing. */
static void test_no_widths(void)
{
    static const struct cgx_override says[] = {
        {.recurs = CGX_RECURS_ALWAYS, .rule = 3},
        {.consensus = CGX_SWITCH_OFF, .rule = 1},
        {.consensus = CGX_SWITCH_ON, .recurs = CGX_RECURS_ALWAYS}};
    struct cgx_plan plain = cgx_plan_of(&settings, NULL, CGX_FLOAT32, 150000);
    bool same = true;

    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        struct cgx_plan plan = cgx_plan_of(&settings, &says[i], CGX_FLOAT32, 150000);

        same = same && plan.hash == plain.hash;
    }
    ok(same, "what says nothing of widths leaves them as they are");
}

static struct {
    struct cgx_layer_list list;
    struct cgx_layer_size layers[400];
} said;

static struct cgx_plan plan_of(const struct cgx_layer_size *layers, size_t nlayers)
{
    const struct cgx_override override = {.layers = &said.list};

    said.list = (struct cgx_layer_list){.nlayers = nlayers};
    for (size_t i = 0; i < nlayers; i++) {
        said.list.layers[i] = layers[i];
        said.list.total += layers[i].count;
    }
    return cgx_plan_of(&settings, &override, CGX_FLOAT32, said.list.total);
}

static void test_layers(void)
{
    static const struct cgx_layer_size aligned[] = {{128, 32}, {70144, 0}, {1024, 8}};
    static const struct cgx_layer_size odd[] = {{100, 32}, {200, 0}, {10, 32}, {5, 2}, {2000, 2}};
    static const struct cgx_layer_size tiny[] = {{1, 3}, {1, 8}, {1, 3}, {200, 5}};
    struct cgx_plan plan = plan_of(aligned, 3);

    ok(covers(&plan) && plan.nsegments == 3 && segment_is(&plan, 0, 128, 32) &&
           segment_is(&plan, 1, 70144, 4) && segment_is(&plan, 2, 1024, 8),
       "layers that are said are followed");

    /* Elements 0-99 exact, 100-299 as set, 300-309 exact, 310-2314 2 bits. */
    plan = plan_of(odd, 5);
    ok(covers(&plan) && plan.nsegments == 4 && segment_is(&plan, 0, 128, 32) &&
           segment_is(&plan, 1, 128, 4) && segment_is(&plan, 2, 128, 32) &&
           segment_is(&plan, 3, 2315 - 384, 2),
       "a bucket of several layers has the most bits of them, and layers alike become one segment");

    plan = plan_of(tiny, 4);
    ok(covers(&plan) && plan.nsegments == 2 && segment_is(&plan, 0, 128, 8) &&
           segment_is(&plan, 1, 203 - 128, 5),
       "layers within one bucket do not make segments of their own");
}

/* The most bits of the layers that have elements in the unit of ELEMENT. */
static unsigned most_bits(const struct cgx_plan *plan, size_t element)
{
    size_t first = element / plan->unit * plan->unit, end = 0;
    unsigned most = 0;

    for (size_t i = 0; i < said.list.nlayers; i++) {
        unsigned bits = said.list.layers[i].bits ? said.list.layers[i].bits : plan->bits;

        end += said.list.layers[i].count;
        if (end > first && end - said.list.layers[i].count < first + plan->unit && bits > most)
            most = bits;
    }
    return most;
}

static void test_any_layers(void)
{
    static struct cgx_layer_size layers[400];
    uint64_t state = 1;
    bool right = true;

    for (int round = 0; round < 200; round++) {
        size_t nlayers = 1 + data_random(&state) % (round % 2 ? 8 : 400), bytes = 0;
        struct cgx_segment segment;
        struct cgx_plan plan;

        for (size_t i = 0; i < nlayers; i++) {
            layers[i].count = 1 + data_random(&state) % (round % 3 ? 200 : 3000);
            layers[i].bits = (unsigned)(data_random(&state) % 10);
            layers[i].bits = layers[i].bits == 9 ? CGX_BITS_EXACT : layers[i].bits;
        }
        plan = plan_of(layers, nlayers);
        right = right && covers(&plan);
        segment = cgx_plan_first(&plan);
        do {
            right = right && segment.before == bytes;
            for (size_t i = 0; i < segment.count; i += plan.unit) {
                right = right && most_bits(&plan, segment.first + i) == segment.encoding;
                bytes += cgx_plan_unit_bytes(&plan, segment.encoding);
            }
        } while (cgx_plan_next(&plan, &segment));
        right = right && bytes == plan.bytes;
    }
    ok(right, "each bucket of any layers has the most bits of its layers");
}

static void test_families(void)
{
    const struct cgx_override maxmin = {.codec = CGX_CODEC(CGX_FAMILY_MAXMIN)},
                              uniform = {.codec = CGX_CODEC(CGX_FAMILY_UNIFORM)};
    struct cgx_settings other = settings;
    struct cgx_plan plain = cgx_plan_of(&settings, NULL, CGX_FLOAT32, 150000), plan;

    other.codec = CGX_FAMILY_UNIFORM;
    plan = cgx_plan_of(&other, NULL, CGX_FLOAT32, 150000);
    ok(covers(&plan) && plan.unit == 1024 && segment_is(&plan, 0, 150000, CGX_UNIFORM + 4) &&
           plan.hash != plain.hash,
       "a uniform plan is cut at buckets of 1024");
    ok(plan.uniform_width == 4 && plain.uniform_width == 0, "and has a step");
    plan = cgx_plan_of(&other, &maxmin, CGX_FLOAT32, 150000);
    ok(plan.hash == plain.hash && plan.unit == 128, "what is said of a call counts");
    plan = cgx_plan_of(&settings, &uniform, CGX_FLOAT32, 150000);
    ok(segment_is(&plan, 0, 150000, CGX_UNIFORM + 4) && plan.unit == 1024, "of either");
}

int main(void)
{
    test_width();
    test_no_widths();
    test_layers();
    test_families();
    test_any_layers();
    return done_testing();
}
