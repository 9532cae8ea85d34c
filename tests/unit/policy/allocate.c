/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Widths of segments, against the optimum of a dynamic programme and against uniform widths. */
#include "policy/widths/allocate.h"

#include <string.h>

#include "lib/tap.h"
#include "unit/lib/allocate_exact.h"
#include "unit/lib/codec_data.h"

#define SEGMENTS 300
#define INSTANCES 6

/* Squared error of an element of variance 1 in buckets of 512 Gaussian ones, by width. */
static const double gaussian[CGX_WIDTHS] = {5.9,     0.342,   0.0638,  0.0139,
                                            3.24e-3, 7.86e-4, 1.93e-4, 4.8e-5};

/* Segments of one kind. */
struct scene {
    const char *name;
    double spread;          /* standard deviation of ln variance */
    unsigned least;         /* width; 0: 1 */
    unsigned sizes;         /* units of cost: 1 to that many */
    unsigned zero, heavy;   /* one in so many has no error, a variance 10,000 times as large */
    unsigned fixed;         /* one in so many has one width */
    unsigned ranges, rough; /* ranges of widths differ; errors do not fall with the width */
    double alpha;           /* budget over the error of 4 bits */
};

struct instance {
    double errors[SEGMENTS][CGX_WIDTHS];
    struct cgx_share shares[SEGMENTS];
    size_t count;
    double budget;
};

static bool one_in(unsigned n, uint64_t *state)
{
    return n > 0 && data_random(state) % n == 0;
}

static void make_instance(struct instance *instance, const struct scene *scene, size_t count,
                          uint64_t seed)
{
    uint64_t state = seed;
    double uniform = 0;

    instance->count = count;
    for (size_t i = 0; i < count; i++) {
        struct cgx_share *share = &instance->shares[i];
        double *errors = instance->errors[i];
        double variance = exp(scene->spread * data_gaussian(&state));
        unsigned size = 1 + (unsigned)(data_random(&state) % scene->sizes);

        variance *= one_in(scene->zero, &state) ? 0 : one_in(scene->heavy, &state) ? 1e4 : 1;
        for (unsigned b = 0; b < CGX_WIDTHS; b++)
            errors[b] =
                size * variance * gaussian[b] *
                (scene->rough ? exp(data_gaussian(&state)) : 0.9 + 0.2 * data_uniform(&state));
        *share = (struct cgx_share){.cost = size,
                                    .errors = errors,
                                    .least = scene->least > 0 ? scene->least : 1,
                                    .most = 8,
                                    .base = 4,
                                    .bits = 99};
        if (scene->ranges) {
            share->least = 1 + (unsigned)(data_random(&state) % 4);
            share->most = 4 + (unsigned)(data_random(&state) % 5);
        }
        if (one_in(scene->fixed, &state))
            share->least = share->most = share->base = 1 + (unsigned)(data_random(&state) % 8);
        uniform += errors[share->base - 1];
    }
    instance->budget = scene->alpha * uniform;
}

static double cost_of(const struct instance *instance)
{
    double cost = 0;

    for (size_t i = 0; i < instance->count; i++)
        cost += instance->shares[i].cost * instance->shares[i].bits;
    return cost;
}

static double base_cost(const struct instance *instance)
{
    double cost = 0;

    for (size_t i = 0; i < instance->count; i++)
        cost += instance->shares[i].cost * instance->shares[i].base;
    return cost;
}

static double error_of(const struct instance *instance)
{
    double error = 0;

    for (size_t i = 0; i < instance->count; i++)
        error += instance->errors[i][instance->shares[i].bits - 1];
    return error;
}

static bool within_ranges(const struct instance *instance)
{
    for (size_t i = 0; i < instance->count; i++) {
        const struct cgx_share *share = &instance->shares[i];

        if (share->bits < share->least || share->bits > share->most)
            return false;
    }
    return true;
}

static void test_scene(const struct scene *scene)
{
    struct instance instance;
    bool sane = true, kept = true, better = true;
    double worst = 0;

    for (uint64_t seed = 1; seed <= INSTANCES; seed++) {
        double optimum;

        make_instance(&instance, scene, SEGMENTS, seed);
        if (cgx_allocate(instance.shares, instance.count, instance.budget) != CGX_OK ||
            !within_ranges(&instance)) {
            sane = false;
            continue;
        }
        kept &= error_of(&instance) <= instance.budget;
        better &= scene->alpha != 1 || scene->ranges || cost_of(&instance) <= base_cost(&instance);
        optimum = allocate_exactly(instance.shares, instance.count, instance.budget);
        if (optimum < 0)
            bail_out("no optimum of %s", scene->name);
        worst = fmax(worst, cost_of(&instance) / optimum - 1);
    }
    diag("%s: at most %.3f %% above the optimum", scene->name, 100 * worst);
    ok(sane && worst <= 0.005, "%s: within 0.5 %% of the optimum", scene->name);
    ok(sane && kept, "%s: the budget is kept", scene->name);
    if (scene->alpha == 1 && !scene->ranges)
        ok(sane && better, "%s: no worse than uniform", scene->name);
}

static void test_optimum(void)
{
    static const struct scene scenes[] = {
        {.name = "sd 0.5", .spread = 0.5, .sizes = 1, .alpha = 1},
        {.name = "sd 1", .spread = 1, .sizes = 1, .alpha = 1},
        {.name = "sd 1.5", .spread = 1.5, .sizes = 1, .alpha = 1},
        {.name = "sd 2", .spread = 2, .sizes = 1, .alpha = 1},
        {.name = "3 to 8 bits", .spread = 2, .least = 3, .sizes = 1, .alpha = 1},
        {.name = "sizes", .spread = 1.5, .sizes = 4, .alpha = 1},
        {.name = "zeros", .spread = 1, .sizes = 4, .zero = 3, .alpha = 1},
        {.name = "heavy", .spread = 1, .sizes = 4, .heavy = 9, .alpha = 1},
        {.name = "fixed", .spread = 1.5, .sizes = 4, .fixed = 3, .alpha = 1},
        {.name = "ranges", .spread = 1, .sizes = 4, .ranges = 1, .alpha = 1.5},
        {.name = "rough", .spread = 1, .sizes = 4, .rough = 1, .alpha = 1},
        {.name = "tight", .spread = 1, .sizes = 4, .alpha = 0.02},
        {.name = "loose", .spread = 1, .sizes = 4, .alpha = 30},
    };

    for (size_t s = 0; s < sizeof scenes / sizeof scenes[0]; s++)
        test_scene(&scenes[s]);
}

/* With few segments a greedy alone would lose to uniform widths now and then. */
static void test_few(void)
{
    static const struct scene scene = {.spread = 0.7, .sizes = 9, .alpha = 1};
    struct instance instance;
    unsigned worse = 0, over = 0;

    for (uint64_t seed = 1; seed <= 4000; seed++) {
        make_instance(&instance, &scene, 1 + seed % 12, seed);
        cgx_allocate(instance.shares, instance.count, instance.budget);
        worse += cost_of(&instance) > base_cost(&instance);
        over += error_of(&instance) > instance.budget;
    }
    ok(worse == 0, "1 to 12 segments: no worse than uniform");
    ok(over == 0, "1 to 12 segments: the budget is kept");
}

/* The budget is what the widths' errors add up to in order, to the last bit. */
static void test_tight(void)
{
    static const struct scene scene = {.spread = 1, .sizes = 1, .alpha = 1};
    struct instance instance;
    unsigned over = 0, dearer = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        double cost;

        make_instance(&instance, &scene, SEGMENTS, seed);
        cgx_allocate(instance.shares, instance.count, instance.budget);
        cost = cost_of(&instance);
        instance.budget = error_of(&instance);
        cgx_allocate(instance.shares, instance.count, instance.budget);
        over += error_of(&instance) > instance.budget;
        dearer += cost_of(&instance) > cost * 1.001;
    }
    ok(over == 0, "a budget that is the error of some widths is kept to the last bit");
    ok(dearer == 0, "and those widths cost hardly less");
}

/* Sums are kept with errors of which the smaller vanish beside the larger. */
static void test_scales(void)
{
    static const struct scene scene = {.spread = 40, .sizes = 4, .alpha = 1};
    struct instance instance;
    unsigned over = 0, worse = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        make_instance(&instance, &scene, SEGMENTS, seed);
        /* Large errors that vanish altogether. */
        for (size_t i = 0; i < seed % 4; i++) {
            double *errors = instance.errors[i * 50];

            memset(errors, 0, sizeof instance.errors[0]);
            errors[0] = errors[1] = 1e60;
        }
        instance.budget = 0;
        for (size_t i = 0; i < SEGMENTS; i++)
            instance.budget += instance.errors[i][3];
        cgx_allocate(instance.shares, instance.count, instance.budget);
        over += error_of(&instance) > instance.budget;
        worse += cost_of(&instance) > base_cost(&instance);
    }
    ok(over == 0, "variances of any scale: the budget is kept");
    ok(worse == 0, "variances of any scale: no worse than uniform");
}

static void test_deterministic(void)
{
    static const struct scene scene = {.spread = 1, .sizes = 4, .alpha = 1};
    static struct instance first, second;
    bool same = true;

    make_instance(&first, &scene, SEGMENTS, 1);
    second = first;
    for (size_t i = 0; i < SEGMENTS; i++) {
        second.shares[i].errors = second.errors[i];
        second.shares[i].bits = 1;
    }
    cgx_allocate(first.shares, SEGMENTS, first.budget);
    cgx_allocate(second.shares, SEGMENTS, second.budget);
    for (size_t i = 0; i < SEGMENTS; i++)
        same &= first.shares[i].bits == second.shares[i].bits;
    ok(same, "the same arguments elsewhere in memory give the same widths");
}

static void test_ties(void)
{
    struct instance instance = {.count = SEGMENTS};
    unsigned previous = 8;
    bool falling = true;

    for (size_t i = 0; i < SEGMENTS; i++) {
        memcpy(instance.errors[i], gaussian, sizeof gaussian);
        instance.shares[i] = (struct cgx_share){
            .cost = 1, .errors = instance.errors[i], .least = 1, .most = 8, .base = 4};
    }
    instance.budget = 100 * gaussian[4] + 200 * gaussian[3];
    cgx_allocate(instance.shares, SEGMENTS, instance.budget * (1 + 1e-12));
    for (size_t i = 0; i < SEGMENTS; i++) {
        falling &= instance.shares[i].bits <= previous;
        previous = instance.shares[i].bits;
    }
    ok(falling && instance.shares[99].bits == 5 && instance.shares[100].bits == 4,
       "of segments all alike the first are raised");
}

static struct cgx_share share_of(double cost, const double *errors)
{
    return (struct cgx_share){
        .cost = cost, .errors = errors, .least = 1, .most = 2, .base = 8, .bits = 99};
}

static void test_slack(void)
{
    static const double steep[CGX_WIDTHS] = {100, 40}, middle[CGX_WIDTHS] = {10, 3},
                        flat[CGX_WIDTHS] = {6, 4};
    struct cgx_share shares[2];

    /* 7 per cost is taken before 6, which alone would do. */
    shares[0] = share_of(10, steep);
    shares[1] = share_of(1, middle);
    cgx_allocate(shares, 2, 52);
    ok(shares[0].bits == 2 && shares[1].bits == 1,
       "what the last raise leaves of the budget lowers another segment");
    /* 2 per cost against 1. */
    shares[0] = share_of(3.5, middle);
    shares[1] = share_of(2, flat);
    cgx_allocate(shares, 2, 14);
    ok(shares[0].bits == 1 && shares[1].bits == 2,
       "a flatter raise takes the place of the last where it costs less");
}

static unsigned allocate_one(const double *errors, unsigned least, unsigned most, double budget)
{
    struct cgx_share share = {
        .cost = 7, .errors = errors, .least = least, .most = most, .base = 4, .bits = 99};

    cgx_allocate(&share, 1, budget);
    return share.bits;
}

static void test_edges(void)
{
    static const double zeros[CGX_WIDTHS];
    static const double rough[CGX_WIDTHS] = {5, 7, 6, 3, 4, 1, 2, 1};

    ok(cgx_allocate(NULL, 0, 1) == CGX_OK, "no segments");
    ok(allocate_one(gaussian, 1, 8, 0.02) == 4, "one segment gets the least width within budget");
    ok(allocate_one(gaussian, 1, 8, gaussian[3]) == 4, "an error equal to the budget is within it");
    ok(allocate_one(gaussian, 5, 8, 10) == 5, "a huge budget: the least width");
    ok(allocate_one(gaussian, 1, 7, 0) == 7, "a budget of 0: the largest width");
    ok(allocate_one(gaussian, 3, 3, 0) == 3, "a fixed width, even over the budget");
    ok(allocate_one(zeros, 2, 8, 0) == 2, "no errors and no budget: the least width");
    ok(allocate_one(gaussian, 1, 8, (double)NAN) == 8,
       "a budget that is no number: the largest width");
    ok(allocate_one(rough, 1, 8, 3) == 4 && allocate_one(rough, 1, 8, 5.5) == 1 &&
           allocate_one(rough, 2, 8, 6.5) == 3,
       "errors that rise with the width are passed over");
    ok(allocate_one(rough, 1, 8, 0) == 6, "the least width of the least error, if none is within");
}

int main(void)
{
    test_optimum();
    test_few();
    test_tight();
    test_scales();
    test_deterministic();
    test_ties();
    test_slack();
    test_edges();
    return done_testing();
}
