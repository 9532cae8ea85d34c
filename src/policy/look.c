/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"

#define ODD 64.0
#define ODD_ENOUGH 3 /* after so many odd sums in a row the site sums another kind of data now */
#define STILL 0.16f
#define STILL_INPUT 0.02f
#define STILL_SHARE 0.75
#define STILL_ALL 0.2
#define STEADY 1.15
#define STEADY_SIZES 9
#define NEAR 1.7
#define NEAR_INPUT 1.5
#define WILD 512.0
#define LANES 8
#define BLIND 2 /* the first looks of a window have nothing to compare with */

const struct cgx_look_words cgx_looks[CGX_LOOKS] = {
    [CGX_LOOK_UNKNOWN] = {"unknown", NULL, NULL},
    [CGX_LOOK_GRADIENT] = {"gradient", NULL, NULL},
    [CGX_LOOK_ALIKE] = {"alike", "all ranks bring the same signs in 97.5 % or more of 256 places",
                        "averaged weights, variances, and ranks that read the same data"},
    [CGX_LOOK_STEADY] = {"steady", "its size has changed by less than 15 % in 9 sums",
                         "densities and batch statistics"},
    [CGX_LOOK_STILL] = {"still",
                        "three quarters of it have changed by less than 16 % of their square since "
                        "one of the 12 sums before",
                        "forces, moving averages and second-order factors"},
    [CGX_LOOK_WILD] = {"wild", "its size has changed by more than a factor of 512 in 11 sums",
                       "residuals of solvers"},
    [CGX_LOOK_SYMMETRIC] = {"symmetric", "it is a symmetric matrix",
                            "covariances and second-order factors"},
    [CGX_LOOK_WHOLE] = {"whole", "it is of whole numbers on some rank", "counts and histograms"},
    [CGX_LOOK_ODD] = {"odd", "its size is 64 times above or below all of the 12 sums before",
                      "averages and metrics in a gradient's buffer"},
    [CGX_LOOK_EMPTY] = {"empty", "most of it is zero on some ranks",
                        "gathers and broadcasts done as sums"},
};

/* ---- sizes ---- */

static bool is_usable_size(double size)
{
    return size > 0 && isfinite(size);
}

void cgx_sizes_add(struct cgx_sizes *sizes, double size)
{
    if (!is_usable_size(size))
        return;
    sizes->last[sizes->next] = size;
    sizes->next = (sizes->next + 1) % CGX_LOOK_KEPT;
    sizes->count += sizes->count < CGX_LOOK_KEPT;
}

void cgx_range_add(struct cgx_range *range, double size)
{
    if (!is_usable_size(size))
        return;
    if (!(range->least > 0) || size < range->least)
        range->least = size;
    if (size > range->greatest)
        range->greatest = size;
}

static struct cgx_range range_of(const struct cgx_sizes *sizes)
{
    struct cgx_range range = {0, 0};

    for (unsigned i = 0; i < sizes->count; i++)
        cgx_range_add(&range, sizes->last[i]);
    return range;
}

/* ---- the tests ---- */

static bool is_odd(const struct cgx_range *range, double size)
{
    return range->least > 0 && (size > ODD * range->greatest || ODD * size < range->least);
}

static bool is_steady(const struct cgx_sizes *sizes, double size)
{
    struct cgx_range range = range_of(sizes);

    cgx_range_add(&range, size);
    return sizes->count + 1 >= STEADY_SIZES && range.greatest < STEADY * range.least;
}

static int compare_sizes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Two kinds of sums in turn, as gradients and variances, have one wide gap between their sizes,
 * which does not count; those of solvers are spread. */
static bool is_wild(const struct cgx_sizes *sizes)
{
    double sorted[CGX_LOOK_KEPT], gap = 1;

    if (sizes->count < 5)
        return false;
    memcpy(sorted, sizes->last, sizeof sorted);
    qsort(sorted, sizes->count, sizeof sorted[0], compare_sizes);
    for (unsigned i = 2; i + 1 < sizes->count; i++) {
        if (sorted[i] > gap * sorted[i - 1])
            gap = sorted[i] / sorted[i - 1];
    }
    return sorted[sizes->count - 2] > WILD * gap * sorted[1];
}

/* How a sample differs from those kept. */
struct change {
    double still;   /* the greatest share of groups that have hardly changed since a sample */
    double nearest; /* the least difference from a sample, over the mean square of both */
};

/* Changes below these are still, of a group, and near, of a sample; no change is below 0. */
struct limits {
    float still;
    double near;
};

/* ---- the last samples ---- */

struct cgx_kept *cgx_kept_create(size_t elements)
{
    struct cgx_kept *kept =
        calloc(1, sizeof *kept + CGX_LOOK_KEPT * elements * sizeof kept->values[0]);

    if (kept)
        kept->elements = elements;
    return kept;
}

static void keep_sample(struct cgx_kept *kept, const float *values, double size)
{
    uint16_t *to = kept->values + kept->sizes.next * kept->elements;

    for (size_t i = 0; i < kept->elements; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            to[i + k] = (uint16_t)(cgx_float_bits(values[i + k]) >> 16);
    cgx_sizes_add(&kept->sizes, size);
}

static float sum_lanes(const float lanes[LANES])
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* The sum of the squares of COUNT VALUES, added in lanes side by side. */
static float squares_of(const float *values, size_t count)
{
    float lanes[LANES] = {0};

    for (size_t i = 0; i < count; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += values[i + k] * values[i + k];
    return sum_lanes(lanes);
}

/* The sum of the squares of what COUNT VALUES differ by from BEFORE times SCALE, added likewise. */
static float squared_changes(const float *values, const uint16_t *before, size_t count, float scale)
{
    float lanes[LANES] = {0};

    for (size_t i = 0; i < count; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            float change = values[i + k] - cgx_bits_float((uint32_t)before[i + k] << 16) * scale;

            lanes[k] += change * change;
        }
    return sum_lanes(lanes);
}

/* A power of two by which squares of values of mean square SIZE neither overflow nor vanish. */
static float unit_of(double size)
{
    int exponent;

    frexp(size, &exponent);
    return ldexpf(1, -exponent / 2 < 126 ? -exponent / 2 : 126);
}

/* A sample ready to be compared: in the unit of its size, with the squares of its groups. */
struct scaled {
    float scale, values[CGX_LOOK_PLACES * CGX_LOOK_SUM_RUN];
    float groups[CGX_LOOK_GROUPS], all;
    unsigned filled; /* number of groups that are not zero */
};

static void scale_sample(const float *values, size_t count, double size, struct scaled *scaled)
{
    const size_t group = count / CGX_LOOK_GROUPS;
    const float scale = unit_of(size);

    scaled->scale = scale;
    scaled->all = 0;
    scaled->filled = 0;
    for (size_t i = 0; i < count; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            scaled->values[i + k] = values[i + k] * scale;
    for (size_t k = 0; k < CGX_LOOK_GROUPS; k++) {
        scaled->groups[k] = squares_of(scaled->values + k * group, group);
        scaled->all += scaled->groups[k];
        scaled->filled += scaled->groups[k] > 0;
    }
}

/* Adds to CHANGE how the sample differs from the one that was kept AGO calls before, unless some of
 * its groups differ by too much for it to count, and by a hundredth more, for what is rounded. */
static void compare_samples(const struct cgx_kept *kept, unsigned ago, const struct scaled *scaled,
                            double size, const struct limits *limits, struct change *change)
{
    const size_t group = kept->elements / CGX_LOOK_GROUPS;
    const size_t place = (kept->sizes.next + CGX_LOOK_KEPT - ago) % CGX_LOOK_KEPT;
    const uint16_t *before = kept->values + place * kept->elements;
    const double sizes = 1 + kept->sizes.last[place] / size, near = limits->near * sizes / 2;
    const double most = 1.01 * (ago > 1 && near < STILL_ALL ? STILL_ALL : near);
    unsigned still = 0;
    float all = 0;

    for (size_t k = 0; k < CGX_LOOK_GROUPS; k++) {
        float one =
            squared_changes(scaled->values + k * group, before + k * group, group, scaled->scale);

        still += one < limits->still * scaled->groups[k];
        all += one;
        if ((double)all > most * (double)scaled->all)
            return;
    }
    all /= scaled->all;
    if (2 * (double)all / sizes < change->nearest)
        change->nearest = 2 * (double)all / sizes;
    if (ago > 1 && (double)all < STILL_ALL && (double)still / scaled->filled > change->still)
        change->still = (double)still / scaled->filled;
}

/* Compares VALUES, of mean square SIZE, with the samples of KEPT, or NULL, and keeps them. */
static struct change change_of(struct cgx_kept *kept, const float *values, double size,
                               const struct limits *limits)
{
    struct change change = {0, INFINITY};
    struct scaled scaled;

    if (!kept)
        return change;
    if (kept->sizes.count > 0)
        scale_sample(values, kept->elements, size, &scaled);
    for (unsigned ago = 1; ago <= kept->sizes.count; ago++)
        compare_samples(kept, ago, &scaled, size, limits, &change);
    keep_sample(kept, values, size);
    return change;
}

/* ---- a window ---- */

void cgx_window_clear(struct cgx_window *window)
{
    free(window->kept);
    *window = (struct cgx_window){.kept = NULL};
}

/* Whether a sum of SIZE is odd. After several odd ones the site sums another kind of data. */
static bool count_odd(struct cgx_window *window, double size)
{
    struct cgx_range range = range_of(&window->kept->sizes);

    window->odd = is_odd(&range, size) ? window->odd + 1 : 0;
    if (window->odd < ODD_ENOUGH)
        return window->odd > 0;
    window->odd = window->kept->sizes.count = window->kept->sizes.next = 0;
    return false;
}

static enum cgx_look judge_sum(struct cgx_window *window, const float *values, double size,
                               const struct cgx_sum_traits *traits)
{
    const struct limits limits = {STILL, is_steady(&window->kept->sizes, size) ? NEAR : 0};
    const struct change change = change_of(window->kept, values, size, &limits);

    if (traits->shows)
        return traits->shows;
    if (change.still >= STILL_SHARE)
        return CGX_LOOK_STILL;
    /* One look counts for all that can find this if nine sums are near each other. */
    if (change.nearest < NEAR_INPUT && limits.near > 0)
        window->state += CGX_LOOK_WINDOW - STEADY_SIZES;
    if (change.nearest < limits.near)
        return CGX_LOOK_STEADY;
    return window->kept->sizes.count <= BLIND ? CGX_LOOK_UNKNOWN : CGX_LOOK_GRADIENT;
}

enum cgx_look cgx_window_look(struct cgx_window *window, const struct cgx_sample *sample,
                              const struct cgx_sum_traits *traits)
{
    double size = sample ? cgx_sample_size(sample) : 0;
    enum cgx_look look;

    window->looks++;
    if (!is_usable_size(size) || !window->kept)
        return CGX_LOOK_UNKNOWN;
    if (traits->placed) {
        cgx_sizes_add(&window->all, size);
        if (count_odd(window, size))
            return CGX_LOOK_ODD;
    }
    look = judge_sum(window, sample->values, size, traits);
    window->alike += traits->alike;
    window->alone += traits->alone;
    window->gradient += look == CGX_LOOK_GRADIENT;
    if (cgx_look_is_state(look)) {
        window->state++;
        window->found = look;
    }
    return look;
}

static bool is_third(const struct cgx_window *window, unsigned looks)
{
    return 3 * looks >= cgx_window_length(window) - BLIND;
}

static enum cgx_look conclude_window(const struct cgx_window *window)
{
    if (is_third(window, window->state))
        return window->found;
    if (is_wild(&window->all))
        return CGX_LOOK_WILD;
    return 4 * window->gradient >= cgx_window_length(window) ? CGX_LOOK_GRADIENT : CGX_LOOK_UNKNOWN;
}

enum { WORD_LEAST, WORD_GREATEST, WORD_ALIKE, WORD_ALONE };

void cgx_window_vote(const struct cgx_window *window, uint32_t words[CGX_LOOK_WORDS])
{
    words[WORD_LEAST] = (uint32_t)conclude_window(window);
    words[WORD_GREATEST] = CGX_LOOKS - words[WORD_LEAST];
    words[WORD_ALIKE] = window->alike;
    words[WORD_ALONE] = window->alone;
}

enum cgx_look cgx_window_judge(const struct cgx_window *window,
                               const uint32_t words[CGX_LOOK_WORDS])
{
    if (is_third(window, words[WORD_ALIKE]))
        return CGX_LOOK_ALIKE;
    if (is_third(window, words[WORD_ALONE]))
        return CGX_LOOK_EMPTY;
    if (words[WORD_LEAST] == CGX_LOOK_UNKNOWN)
        return CGX_LOOK_UNKNOWN;
    return (enum cgx_look)(CGX_LOOKS - words[WORD_GREATEST]);
}

/* ---- inputs ---- */

enum cgx_look cgx_inputs_look(struct cgx_inputs *inputs, const struct cgx_sample *input,
                              double size, const struct cgx_input_traits *traits)
{
    const struct cgx_range own = range_of(&inputs->sizes), *range = traits->range;
    const struct limits limits = {STILL_INPUT,
                                  !range && is_steady(&inputs->sizes, size) ? NEAR_INPUT : 0};
    struct change change;

    if (!is_usable_size(size))
        return CGX_LOOK_UNKNOWN;
    change = change_of(inputs->kept, input->values, size, &limits);
    if (cgx_sample_is_whole(input))
        return CGX_LOOK_WHOLE;
    if (traits->shows)
        return traits->shows;
    if (traits->unseen && cgx_sample_is_empty(input))
        return CGX_LOOK_EMPTY;
    if (is_odd(range ? range : &own, size))
        return CGX_LOOK_ODD;
    if (change.still >= STILL_SHARE)
        return CGX_LOOK_STILL;
    if (change.nearest < limits.near)
        return CGX_LOOK_STEADY;
    return CGX_LOOK_GRADIENT;
}
