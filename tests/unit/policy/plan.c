/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What plans make of settings, rules and hints. */
#include "policy/plan.h"
#include "codec/rotated/rotated.h"

#include <stdlib.h>

#include "lib/tap.h"
#include "util/integers.h"

static const struct cgx_settings settings = {
    .bits = 4, .bucket_size = 512, .adaptive = true, .adaptive_bits = 3u << 16 | 8u};

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

static bool segment_is(const struct cgx_plan *plan, size_t index, size_t count, unsigned least,
                       unsigned bits, unsigned most)
{
    const struct cgx_segment *segment = &plan->segments[index];

    return index < plan->nsegments && segment->count == count && segment->least == least &&
           segment->bits == bits && segment->most == most;
}

static void test_adaptive(void)
{
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, 150000);

    ok(covers(plan) && plan->nsegments == 3 && plan->adaptive &&
           segment_is(plan, 0, 65536, 3, 4, 8) && segment_is(plan, 2, 150000 - 131072, 3, 4, 8),
       "segments of 65536 elements begin at the base width");
    cgx_plan_free(plan);
}

static void test_said_widths(void)
{
    struct cgx_settings fixed = settings;
    struct cgx_override override = {.least = 5, .most = 7};
    struct cgx_plan *plan = cgx_plan_create(&settings, &override, CGX_FLOAT32, 2048);

    ok(segment_is(plan, 0, 2048, 5, 5, 7), "a range that is said counts, and the base is within");
    cgx_plan_free(plan);
    fixed.adaptive = false;
    plan = cgx_plan_create(&fixed, &override, CGX_FLOAT32, 150000);
    ok(plan->nsegments == 1 && !plan->adaptive && segment_is(plan, 0, 150000, 5, 5, 5),
       "where nothing is adaptive it is one width for all");
    cgx_plan_free(plan);
}

/* Whether OVERRIDE, without widths and layers, changes nothing under WITH. */
static bool changes_nothing(const struct cgx_settings *with, const struct cgx_override *override)
{
    struct cgx_plan *plain = cgx_plan_create(with, NULL, CGX_FLOAT32, 150000);
    struct cgx_plan *plan = cgx_plan_create(with, override, CGX_FLOAT32, 150000);
    bool same = plan->hash == plain->hash && plan->adaptive == plain->adaptive &&
                plan->nsegments == plain->nsegments &&
                segment_is(plan, 0, plain->segments[0].count, plain->segments[0].least,
                           plain->segments[0].bits, plain->segments[0].most);

    cgx_plan_free(plain);
    cgx_plan_free(plan);
    return same;
}

static void test_no_widths(void)
{
    static const struct cgx_override says[] = {
        {.recurs = CGX_RECURS_ALWAYS, .rule = 3},
        {.consensus = CGX_SWITCH_OFF, .rule = 1},
        {.consensus = CGX_SWITCH_ON, .recurs = CGX_RECURS_ALWAYS}};
    struct cgx_settings fixed = settings;
    bool same = true;

    fixed.adaptive = false;
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        same = same && changes_nothing(&settings, &says[i]) && changes_nothing(&fixed, &says[i]);
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

    ok(covers(plan) && plan->nsegments == 4 && segment_is(plan, 0, 512, 32, 32, 32) &&
           segment_is(plan, 1, 65536, 3, 4, 8) && segment_is(plan, 2, 70144 - 65536, 3, 4, 8) &&
           segment_is(plan, 3, 1024, 8, 8, 8),
       "layers that are said are followed, and cut from their first element on");
    cgx_plan_free(plan);

    /* Elements 0-99 exact, 100-1099 adaptive, 1100-1109 exact, 1110-3114 2 bits. */
    plan = plan_of(odd, 5);
    ok(covers(plan) && plan->nsegments == 4 && segment_is(plan, 0, 512, 32, 32, 32) &&
           segment_is(plan, 1, 512, 3, 4, 8) && segment_is(plan, 2, 512, 32, 32, 32) &&
           segment_is(plan, 3, 3115 - 1536, 2, 2, 2),
       "a bucket of several layers has the most bits of them, and layers alike become one segment");
    cgx_plan_free(plan);

    plan = plan_of(tiny, 4);
    ok(covers(plan) && plan->nsegments == 2 && segment_is(plan, 0, 512, 8, 8, 8) &&
           segment_is(plan, 1, 603 - 512, 5, 5, 5),
       "layers within one bucket do not make segments of their own");
    cgx_plan_free(plan);
}

static bool is_rotated(const struct cgx_plan *plan, size_t index, unsigned width)
{
    return cgx_segment_encoding(&plan->segments[index]) == CGX_ROTATED + width;
}

static void test_families(void)
{
    const struct cgx_override wide = {.least = 6, .most = 8},
                              maxmin = {.codec = CGX_CODEC(CGX_FAMILY_MAXMIN)},
                              rotated = {.codec = CGX_CODEC(CGX_FAMILY_ROTATED)};
    struct cgx_settings rotates = settings;
    struct cgx_plan *plain = cgx_plan_create(&settings, NULL, CGX_FLOAT32, 150000), *plan;

    rotates.codec = CGX_FAMILY_ROTATED;
    plan = cgx_plan_create(&rotates, NULL, CGX_FLOAT32, 150000);
    ok(covers(plan) && plan->unit == 1024 && plan->adaptive &&
           segment_is(plan, 0, 65536, 3, 4, 5) && is_rotated(plan, 0, 4) &&
           plan->hash != plain->hash,
       "a rotated plan is cut at buckets of 1024, and has widths up to 5");
    ok(plan->bytes == 147 * (512 + 4), "its bytes are those of whole buckets");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&rotates, &wide, CGX_FLOAT32, 150000);
    ok(segment_is(plan, 0, 65536, 6, 6, 8) &&
           cgx_segment_encoding(&plan->segments[0]) == plan->segments[0].bits,
       "widths that it does not have are of max-min quantisation");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&rotates, &maxmin, CGX_FLOAT32, 150000);
    ok(plan->hash == plain->hash && plan->unit == 512, "what is said of a call counts");
    cgx_plan_free(plan);
    plan = cgx_plan_create(&settings, &rotated, CGX_FLOAT32, 150000);
    ok(is_rotated(plan, 0, 4) && plan->unit == 1024, "of either");
    cgx_plan_free(plan);
    rotates.bucket_size = 4096;
    plan = cgx_plan_create(&rotates, NULL, CGX_FLOAT32, 150000);
    ok(plan->unit == 4096, "larger buckets of max-min quantisation are not cut");
    cgx_plan_free(plan);
    cgx_plan_free(plain);
}

/* Whether segment INDEX has an alternative, a family where it has these widths. */
static bool turns_to(const struct cgx_plan *plan, size_t index, unsigned bits, unsigned least,
                     unsigned most)
{
    const struct cgx_segment *segment = &plan->segments[index];
    struct cgx_widths alternative =
        segment->alternatives[segment->family == CGX_FAMILY_MAXMIN ? CGX_FAMILY_ROTATED
                                                                   : CGX_FAMILY_MAXMIN];

    return alternative.bits == bits && alternative.least == least && alternative.most == most;
}

static void test_chosen_families(void)
{
    static const uint8_t first[10] = {CGX_ROTATED + 3, 4, 4, 4, 4, 4, 4, 4, 4, 8};
    static const uint8_t none[10] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    struct cgx_settings any = settings;
    struct cgx_plan *plan, *plain, *widest;
    uint32_t hash;

    any.codec = CGX_FAMILY_AUTO;
    plan = cgx_plan_create(&any, NULL, CGX_FLOAT32, 150000);
    hash = plan->hash;
    ok(covers(plan) && plan->has_alternatives && plan->adaptive && plan->unit == 1024 &&
           plan->nsegments == 10 && segment_is(plan, 0, 16384, 4, 4, 8) &&
           turns_to(plan, 0, 4, 3, 5),
       "where families are chosen segments are short, and have widths in both");
    cgx_plan_set(plan, first);
    ok(is_rotated(plan, 0, 3) && segment_is(plan, 0, 16384, 3, 3, 5) &&
           turns_to(plan, 0, 4, 4, 8) && plan->segments[9].bits == 8 && plan->hash != hash,
       "one that turns has those of the other");
    cgx_plan_set(plan, none);
    ok(plan->hash == hash, "and turns back");
    cgx_plan_free(plan);

    any.adaptive = false;
    any.bits = 2;
    plan = cgx_plan_create(&any, NULL, CGX_FLOAT32, 150000);
    ok(plan->has_alternatives && plan->adaptive &&
           segment_is(plan, 9, 150000 - 9 * 16384, 4, 4, 4) && turns_to(plan, 9, 2, 2, 2),
       "what is not rotated has 4 bits at least");
    cgx_plan_free(plan);

    any.bits = 4;
    any.bucket_size = 4096;
    plan = cgx_plan_create(&any, NULL, CGX_FLOAT32, 150000);
    widest = cgx_plan_widest(plan);
    any.codec = CGX_FAMILY_ROTATED;
    plain = cgx_plan_create(&any, NULL, CGX_FLOAT32, 150000);
    ok(widest->bytes >= plan->bytes && widest->bytes >= plain->bytes,
       "the widest has room for both families");
    cgx_plan_free(plain);
    cgx_plan_free(plan);
    cgx_plan_free(widest);

    any.codec = CGX_FAMILY_AUTO;
    any.bits = 6;
    plan = cgx_plan_create(&any, NULL, CGX_FLOAT32, 150000);
    ok(!plan->has_alternatives && plan->nsegments == 1,
       "widths that only one family has leave no choice");
    cgx_plan_free(plan);
}

static void test_base_below(void)
{
    struct cgx_settings any = settings;
    struct cgx_plan *plan, *widest;
    const struct cgx_segment *segment;

    any.codec = CGX_FAMILY_AUTO;
    any.bits = 2;
    plan = cgx_plan_create(&any, NULL, CGX_FLOAT32, 150000);
    widest = cgx_plan_widest(plan);
    segment = &widest->segments[0];
    ok(turns_to(plan, 0, 2, 3, 5) &&
           cgx_smaller(segment->least, segment->alternatives[CGX_FAMILY_ROTATED].least) == 2,
       "the widest counts a base width below those that may be chosen");
    cgx_plan_free(plan);
    cgx_plan_free(widest);
}

static void test_change(void)
{
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, 150000);
    struct cgx_plan *copy = cgx_plan_copy(plan), *widest = cgx_plan_widest(plan);
    const uint8_t widths[] = {3, 8, 5}, alternatives[] = {2, 0, 255};
    uint32_t hash;

    ok(copy->hash == plan->hash, "a copy has the hash of its plan");
    cgx_plan_set(copy, widths);
    ok(copy->hash != plan->hash && segment_is(copy, 1, 65536, 3, 8, 8),
       "with other widths another");
    hash = copy->hash;
    cgx_plan_set(copy, alternatives);
    ok(copy->hash == hash && copy->segments[2].bits == 5, "what none may have changes nothing");
    ok(widest->segments[0].bits == 8 && widest->segments[2].bits == 8, "the widest has the most");
    ok(cgx_plan_segment(plan, 0) == 0 && cgx_plan_segment(plan, 65535) == 0 &&
           cgx_plan_segment(plan, 65536) == 1 && cgx_plan_segment(plan, 149999) == 2,
       "elements are found in their segments");
    cgx_plan_free(plan);
    cgx_plan_free(copy);
    cgx_plan_free(widest);
}

int main(void)
{
    test_adaptive();
    test_said_widths();
    test_no_widths();
    test_layers();
    test_families();
    test_chosen_families();
    test_base_below();
    test_change();
    return done_testing();
}
