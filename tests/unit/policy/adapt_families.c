/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Families under CGX_CODEC=auto, by the errors that both would have. */

#include <math.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/rotated/rotated.h"
#include "codec/uniform/uniform.h"
#include "lib/tap.h"
#include "policy/widths/adapt.h"

enum { SEGMENTS = 4, PERIOD = 10, ELEMENTS = CGX_FAMILY_SEGMENT_ELEMENTS };

static struct cgx_settings settings;
static struct cgx_adapt *adapt; /* of the test that runs */

/* What a segment is like. */
struct data {
    double power; /* of an element */
    double ratio; /* of its error at 4 bits, max-min quantised, to that of 4 bits rotated */
};

static const uint8_t rotated[SEGMENTS] = {CGX_FAMILY_ROTATED, CGX_FAMILY_ROTATED,
                                          CGX_FAMILY_ROTATED, CGX_FAMILY_ROTATED};

static void begin(bool adaptive, int bits)
{
    struct cgx_plan *plan;

    settings = (struct cgx_settings){.bits = bits,
                                     .bucket_size = 512,
                                     .codec = CGX_FAMILY_AUTO,
                                     .adaptive = adaptive,
                                     .adaptive_period = PERIOD,
                                     .adaptive_budget = 1};
    plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, (size_t)SEGMENTS * ELEMENTS);
    cgx_adapt_free(adapt);
    adapt = cgx_adapt_create(&settings, (const struct cgx_plan *const[]){plan}, 1);
    cgx_plan_free(plan);
}

static const struct cgx_segment *segment_at(size_t index)
{
    return &adapt->layers[0].plan->segments[index];
}

static unsigned encoding_at(size_t index)
{
    return cgx_segment_encoding(segment_at(index));
}

/* Error of DATA in ENCODING. */
static double error_of(const struct data *data, unsigned encoding)
{
    unsigned width = cgx_encoding_width(encoding), steps = (1u << width) - 1;
    double power = ELEMENTS * data->power;

    if (cgx_encoding_family(encoding) == CGX_FAMILY_ROTATED)
        return power * cgx_uniform_error(width);
    return power * cgx_uniform_error(4) * data->ratio * 15 * 15 / (steps * steps);
}

/* Of elements spread evenly between the levels, for max-min quantisation. */
static double weight_of(const struct data *data, enum cgx_family family)
{
    return family == CGX_FAMILY_ROTATED ? ELEMENTS * data->power : 12 * error_of(data, 1);
}

/* Some of it is sampled, and all of it if it is not rotated: sums of what is cannot be looked at.
 */
static struct cgx_finding finding_of(const struct data *data, enum cgx_family family)
{
    double weight = weight_of(data, family);
    struct cgx_finding finding = {.quantised = weight, .owned = weight};

    for (unsigned f = 0; f < CGX_FAMILIES; f++)
        finding.weights[f] = weight_of(data, (enum cgx_family)f) / 16;
    for (unsigned width = 1; width <= CGX_WIDTHS; width++)
        finding.errors[width - 1] = error_of(data, width) / 16;
    return finding;
}

static enum cgx_adapt_due step(const struct data *data)
{
    struct cgx_adapt_layer *layer = &adapt->layers[0];

    for (size_t s = 0; s < SEGMENTS; s++) {
        enum cgx_family family = (enum cgx_family)segment_at(s)->family;

        layer->energies[s] = weight_of(&data[s], family) / cgx_encoding_range(encoding_at(s));
        if (cgx_adapt_measures(adapt))
            layer->findings[s] = finding_of(&data[s], family);
    }
    return cgx_adapt_step(adapt);
}

/* What ranks do then, of which there is one, if FAMILIES is what they have looked at. */
static void carry_out(enum cgx_adapt_due due, const uint8_t *families)
{
    if (due == CGX_ADAPT_NOTHING)
        return;
    if (due == CGX_ADAPT_MEASURED)
        cgx_adapt_allow(adapt, &adapt->layers[0], families);
    memcpy(adapt->summed, adapt->measured, adapt->nsegments * sizeof adapt->measured[0]);
    cgx_adapt_choose(adapt, due);
    cgx_adapt_take(adapt, due);
}

static void steps(const struct data *data, const uint8_t *families, unsigned count)
{
    while (count-- > 0)
        carry_out(step(data), families);
}

/* Whether the plan has these encodings. */
static bool are(unsigned first, unsigned second, unsigned third, unsigned fourth)
{
    return encoding_at(0) == first && encoding_at(1) == second && encoding_at(2) == third &&
           encoding_at(3) == fourth;
}

enum { R2 = CGX_ROTATED + 2, R3, R4, R5 };

static const struct data alike[SEGMENTS] = {{1, 1.5}, {1, 1.5}, {1, 1.5}, {1, 1.5}};

static void test_gain(void)
{
    static const struct data various[SEGMENTS] = {{1, 1.5}, {1, 1.1}, {1, 0.5}, {1, 10}};
    static const struct data closer[SEGMENTS] = {{1, 0.9}, {1, 0.9}, {1, 1.1}, {1, 1.1}};

    begin(false, 4);
    ok(are(4, 4, 4, 4) && adapt->layers[0].plan->adaptive,
       "before anything is known all is max-min quantised");
    steps(various, rotated, CGX_ADAPT_FIRST);
    ok(are(R4, 4, 4, R4), "what gains a fifth is rotated, at one width");
    steps(closer, rotated, PERIOD);
    ok(are(R4, 4, 4, R4), "what would gain less stays as it is");
    begin(false, 4);
    steps(alike, rotated, CGX_ADAPT_FIRST);
    steps((const struct data[]){{1, 1.5}, {1, 0.3}, {1, 0.7}, {1, 0.9}}, rotated, PERIOD);
    ok(are(R4, 4, 4, R4), "what was rotated turns back where its data has changed");
}

static void test_headers(void)
{
    begin(false, 4);
    adapt->layers[0].plan->bucket_size = 64;
    steps((const struct data[]){{1, 1.2}, {1, 0.8}, {1, 0.4}, {1, 1.5}}, rotated, CGX_ADAPT_FIRST);
    ok(are(R4, R4, 4, R4), "headers of small buckets count");
}

static void test_allowed(void)
{
    const uint8_t some[SEGMENTS] = {CGX_FAMILY_ROTATED, CGX_FAMILY_MAXMIN, CGX_FAMILY_ROTATED,
                                    CGX_FAMILY_MAXMIN};
    static const struct data zeros[SEGMENTS] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};

    begin(true, 4);
    steps(alike, some, CGX_ADAPT_FIRST);
    ok(encoding_at(0) == R4 && encoding_at(1) <= CGX_WIDTHS && encoding_at(1) >= 4,
       "what must not be rotated is not, whatever the errors, and has 4 bits or more");
    steps(alike, rotated, CGX_ADAPT_LEAST);
    ok(are(R4, R4, R4, R4), "until it may be");
    steps(zeros, some, PERIOD);
    ok(encoding_at(0) > CGX_ROTATED && are(encoding_at(0), 4, encoding_at(2), 4),
       "what was rotated is not any more, though nothing is known of it");
}

static void test_two_bits(void)
{
    begin(false, 2);
    ok(are(4, 4, 4, 4), "what is not rotated has 4 bits where 2 are asked for");
    steps((const struct data[]){{1, 1.5}, {1, 1}, {1, 0.5}, {1, 0.01}}, rotated, CGX_ADAPT_FIRST);
    ok(are(R2, R2, R2, R2), "what may be rotated has 2: other widths are not compared");
    begin(true, 2);
    steps(alike, rotated, CGX_ADAPT_FIRST);
    ok(are(R2, R2, R2, R2), "and where widths are chosen");
}

/* One of which there is much more than of others needs more bits than rotated elements have. */
static void test_union(void)
{
    static const struct data heavy[SEGMENTS] = {{1, 1.5}, {1e-2, 1.5}, {1e-2, 1.5}, {1e-2, 1.5}};
    static const struct data dense[SEGMENTS] = {{1, 0.5}, {1e-3, 1.5}, {1e-3, 1.5}, {1e-3, 1.5}};
    double error, budget;

    begin(true, 4);
    steps(heavy, rotated, CGX_ADAPT_LEAST);
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(are(encoding_at(0), R3, R3, R3) && error <= budget,
       "no fewer than 3 bits, within the budget");
    begin(true, 4);
    adapt->alpha = 0.1;
    steps(alike, rotated, CGX_ADAPT_LEAST);
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(encoding_at(0) == 6 && error <= budget, "where 5 bits are too few it is max-min quantised");
    begin(true, 4);
    steps(dense, rotated, CGX_ADAPT_LEAST);
    ok(encoding_at(0) < CGX_ROTATED && are(encoding_at(0), R3, R3, R3),
       "segments side by side have either family (%u bits)", encoding_at(0));
}

static void test_estimate(void)
{
    const struct data grown[SEGMENTS] = {{4, 1.5}, {4, 1.5}, {4, 1.5}, {4, 1.5}};
    double error, budget;

    begin(true, 4);
    steps(alike, rotated, CGX_ADAPT_FIRST);
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(fabs(error / (SEGMENTS * error_of(alike, R4)) - 1) < 1e-9 && error == budget,
       "the error of what has turned is known at once");
    steps(grown, rotated, 1);
    cgx_adapt_estimate(adapt, &adapt->layers[0], &error, &budget);
    ok(fabs(error / (SEGMENTS * error_of(grown, R4)) - 1) < 1e-9,
       "and follows the energies in the other family");
}

/* Sampling fails on the device, say. */
static void test_unmeasured(void)
{
    struct cgx_adapt_layer *layer;
    enum cgx_adapt_due due = CGX_ADAPT_NOTHING;

    begin(false, 4);
    layer = &adapt->layers[0];
    while (due == CGX_ADAPT_NOTHING) {
        for (size_t s = 0; s < SEGMENTS; s++) {
            layer->energies[s] = 1;
            layer->findings[s] = (struct cgx_finding){.quantised = 225};
        }
        due = cgx_adapt_step(adapt);
    }
    carry_out(due, rotated);
    ok(are(4, 4, 4, 4), "where nothing could be measured nothing turns");
}

int main(void)
{
    test_gain();
    test_headers();
    test_allowed();
    test_two_bits();
    test_union();
    test_estimate();
    test_unmeasured();
    cgx_adapt_free(adapt);
    return done_testing();
}
