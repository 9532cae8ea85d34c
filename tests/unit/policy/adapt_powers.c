/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The policy at work where powers matter: what it takes the power of made-up gradients' sums for,
 * and the cap, against the sums in float64. */
#include "unit/lib/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT (2 * CGX_SEGMENT_ELEMENTS + 30000)
#define MOST_RANKS 8
#define PERIOD 18

/* What a sample may be off by: of some 300 buckets, 1 in 8 in the course of a period, whose ranges
 * differ by a tenth, and thus their weights by a fifth; three standard deviations. */
#define SAMPLED 0.1

/* Gradients: a part common to the ranks and one of their own, Gaussian. */
struct scene {
    struct cgx_settings settings;
    unsigned ranks;
    double common, own; /* standard deviations */
    bool still;         /* the common part is the same in all steps */
    unsigned steps;
};

/* Of the last measured steps, means; and the worst. */
struct truth {
    double power; /* of the sum */
    double worst; /* squared error over power, of steps after the first choice */
    bool served;
};

static float gradients[MOST_RANKS * COUNT];
static double sums[COUNT];

static struct cgx_settings settings_of(unsigned least, double alpha)
{
    return (struct cgx_settings){.bits = 4,
                                 .bucket_size = 512,
                                 .fusion_buffer_bytes = 1 << 20,
                                 .adaptive = true,
                                 .adaptive_bits = least << 16 | 8,
                                 .adaptive_budget = alpha,
                                 .adaptive_period = PERIOD};
}

static double scale_at(size_t element)
{
    static const double scales[] = {1, 0.3, 2};

    return scales[element / CGX_SEGMENT_ELEMENTS];
}

static void fill_step(const struct scene *scene, unsigned step)
{
    uint64_t shared = scene->still ? 77 : step + 1, state = 1000 + step;

    for (size_t i = 0; i < COUNT; i++) {
        double common = scene->common * data_gaussian(&shared);

        sums[i] = 0;
        for (unsigned r = 0; r < scene->ranks; r++) {
            double value = scale_at(i) * (common + scene->own * data_gaussian(&state));

            gradients[r * COUNT + i] = (float)value;
            sums[i] += (double)(float)value;
        }
    }
}

static double power_of(const double *sum)
{
    double power = 0;

    for (size_t i = 0; i < COUNT; i++)
        power += sum[i] * sum[i];
    return power;
}

/* The steps up to the end of the first period. */
static struct replay *play(const struct scene *scene, struct truth *truth)
{
    const size_t counts[] = {COUNT};
    struct replay *replay = replay_create(&scene->settings, scene->ranks, counts, 1);
    unsigned steps = CGX_ADAPT_FIRST + PERIOD;

    if (!replay)
        bail_out("no memory");
    *truth = (struct truth){.served = true};
    for (unsigned step = 0; step < steps; step++) {
        struct replay_result result;

        fill_step(scene, step);
        truth->served = replay_step(replay, gradients, &result) && result.same && truth->served;
        if (step + CGX_ADAPT_MEASURED_STEPS >= steps)
            truth->power += power_of(sums) / CGX_ADAPT_MEASURED_STEPS;
        if (step >= CGX_ADAPT_FIRST)
            truth->worst = fmax(truth->worst, result.error / power_of(sums));
    }
    return replay;
}

static double known_power(const struct replay *replay)
{
    const struct cgx_adapt_layer *layer = &replay_adapt(replay)->layers[0];
    double sum = 0;

    for (size_t s = 0; s < layer->plan->nsegments; s++)
        sum += layer->segments[s].known.second_moment;
    return sum;
}

/* ---- what is found ---- */

static void test_power(const char *name, const struct scene *scene)
{
    struct truth truth;
    struct replay *replay = play(scene, &truth);
    double power = known_power(replay) / truth.power;

    diag("%s: power %.4f of what it is", name, power);
    ok(truth.served, "%s: calls are served", name);
    ok(fabs(power - 1) < SAMPLED, "%s: the power of the sum is as it is", name);
    replay_free(replay);
}

static void test_all_powers(void)
{
    struct scene scene = {.settings = settings_of(3, 1), .ranks = 4, .common = 1, .own = 1};

    test_power("4 ranks", &scene);
    scene.own = 0.2;
    test_power("4 ranks nearly alike", &scene);
    scene.still = true;
    scene.own = 0.5;
    test_power("a gradient that stays", &scene);
    scene.ranks = 2;
    test_power("2 ranks", &scene);
    scene.ranks = 4;
    scene.settings.topology = (uint64_t)2 << 32 | 2;
    test_power("2 nodes of 2", &scene);
}

/* ---- the cap ---- */

/* A budget that allows everything. */
static void test_cap(const char *name, unsigned ranks, unsigned least)
{
    struct scene scene = {
        .settings = settings_of(least, 1e6), .ranks = ranks, .common = 0.2, .own = 1};
    struct truth truth;
    struct replay *replay = play(&scene, &truth);

    diag("%s: at most %.4f of the power", name, truth.worst);
    ok(truth.served && truth.worst <= CGX_ADAPT_CAP, "%s: errors are at most half of the power",
       name);
    replay_free(replay);
}

int main(void)
{
    test_all_powers();
    test_cap("4 ranks, 1:8", 4, 1);
    return done_testing();
}
