/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "codec/squares.h"
#include "util/integers.h"

#define ODD 16.0
#define ODD_ENOUGH 3 /* in a row: they are what the site sums now */
#define STILL 0.16f
#define STILL_INPUT 0.02f
#define STILL_SHARE 0.75
#define STILL_ALL 0.2
#define STEADY 1.15
#define STEADY_SIZES 9
#define NEAR 1.5
#define WILD 1024.0
#define ALIKE_LEAST 32 /* places */
#define GROUPS 32
#define LANES 16
#define BLIND 2 /* looks at the begin of a window that have nothing to be compared with */

const struct cgx_look_words cgx_looks[CGX_LOOKS] = {
    [CGX_LOOK_UNKNOWN] = {"unknown", "its data is zero or not finite"},
    [CGX_LOOK_GRADIENT] = {"gradient", "it looks like a gradient"},
    [CGX_LOOK_ALIKE] = {"alike", "all ranks bring the same signs in 97.5 % or more of 256 places, "
                                 "as averaged weights do, and ranks that read the same data"},
    [CGX_LOOK_STEADY] = {"steady", "its size has changed by less than 15 % in 9 sums, as densities "
                                   "and statistics do"},
    [CGX_LOOK_STILL] = {"still", "three quarters of it have changed by less than 16 % of their "
                                 "square since one of the 12 sums before, as forces, averages and "
                                 "second-order factors do"},
    [CGX_LOOK_WILD] = {"wild", "its size has changed by more than a factor of 1024 in 11 sums, as "
                               "residuals of solvers do"},
    [CGX_LOOK_SYMMETRIC] = {"symmetric", "it is a symmetric matrix, as covariances are"},
    [CGX_LOOK_ODD] = {"odd", "its size is 16 times above or below all of the 12 sums before"},
};

/* ---- samples ---- */

size_t cgx_sample_run(size_t count, size_t most)
{
    return cgx_smaller(count / CGX_LOOK_PLACES, most) & ~(size_t)1;
}

size_t cgx_sample_place(size_t count, size_t run, size_t number)
{
    size_t distance = count / CGX_LOOK_PLACES;

    return number * distance + number * 37 % (distance - run + 1) / 2 * 2;
}

double cgx_sample_size(const struct cgx_sample *sample)
{
    size_t count = CGX_LOOK_PLACES * sample->run;
    double magnitudes;

    return cgx_squares_sum(sample->values, count, &magnitudes) / (double)count;
}

/* ---- sizes ---- */

static bool counts(double size)
{
    return size > 0 && isfinite(size);
}

void cgx_sizes_add(struct cgx_sizes *sizes, double size)
{
    if (!counts(size))
        return;
    sizes->last[sizes->next] = size;
    sizes->next = (sizes->next + 1) % CGX_LOOK_KEPT;
    sizes->count += sizes->count < CGX_LOOK_KEPT;
}

void cgx_range_add(struct cgx_range *range, double size)
{
    if (!counts(size))
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

/* SIZES, and SIZE if it is not 0. */
static bool is_steady(const struct cgx_sizes *sizes, double size)
{
    struct cgx_range range = range_of(sizes);

    cgx_range_add(&range, size);
    return sizes->count + (size > 0) >= STEADY_SIZES && range.greatest < STEADY * range.least;
}

static int compare_sizes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool is_wild(const struct cgx_sizes *sizes)
{
    double sorted[CGX_LOOK_KEPT];

    if (sizes->count < 5)
        return false;
    memcpy(sorted, sizes->last, sizeof sorted);
    qsort(sorted, sizes->count, sizeof sorted[0], compare_sizes);
    return sorted[sizes->count - 2] > WILD * sorted[1];
}

/* How a sample differs from those kept. */
struct change {
    double still;   /* the greatest share of groups that have hardly changed */
    double nearest; /* the least difference of all, of its square */
};

static bool is_still(const struct change *change)
{
    return change->still >= STILL_SHARE;
}

/* ---- the last samples ---- */

struct cgx_kept *cgx_kept_create(size_t elements)
{
    struct cgx_kept *kept =
        calloc(1, sizeof *kept + CGX_LOOK_KEPT * elements * sizeof kept->values[0]);

    if (kept)
        kept->elements = elements;
    return kept;
}

static void keep(struct cgx_kept *kept, const float *values)
{
    uint16_t *to = kept->values + kept->next * kept->elements;

    for (size_t i = 0; i < kept->elements; i++)
        to[i] = (uint16_t)(cgx_float_bits(values[i]) >> 16);
    kept->next = (kept->next + 1) % CGX_LOOK_KEPT;
    kept->count += kept->count < CGX_LOOK_KEPT;
}

struct difference {
    float squares, changed;
};

/* Adds up, in side-by-side lanes, COUNT elements in units of 1 / SCALE. */
static struct difference differ(const float *values, const uint16_t *before, size_t count,
                                float scale)
{
    float squares[LANES] = {0}, changed[LANES] = {0};
    struct difference all = {0, 0};

    for (size_t i = 0; i < count; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            float value = values[i + k] * scale;
            float change = value - cgx_bits_float((uint32_t)before[i + k] << 16) * scale;

            squares[k] += value * value;
            changed[k] += change * change;
        }
    for (size_t k = 0; k < LANES; k++) {
        all.squares += squares[k];
        all.changed += changed[k];
    }
    return all;
}

/* Takes to CHANGE the sample that was kept AGO calls before. */
static void compare(const struct cgx_kept *kept, unsigned ago, const float *values, float scale,
                    float least, struct change *change)
{
    const size_t group = kept->elements / GROUPS;
    const uint16_t *before =
        kept->values + (kept->next + CGX_LOOK_KEPT - ago) % CGX_LOOK_KEPT * kept->elements;
    struct difference all = {0, 0};
    unsigned still = 0, filled = 0;
    double nearness, share;

    for (size_t k = 0; k < GROUPS; k++) {
        struct difference one = differ(values + k * group, before + k * group, group, scale);

        still += one.changed < least * one.squares;
        filled += one.squares > 0;
        all.squares += one.squares;
        all.changed += one.changed;
    }
    nearness = (double)(all.changed / all.squares);
    share = (double)still / filled;
    if (nearness < change->nearest)
        change->nearest = nearness;
    if (ago > 1 && nearness < STILL_ALL && share > change->still)
        change->still = share;
}

/* Compares VALUES, with mean square SIZE, with all samples of KEPT, which may be NULL, and keeps
 * them. In their own unit squares neither overflow nor vanish. */
static struct change change_of(struct cgx_kept *kept, const float *values, double size, float least)
{
    struct change change = {0, INFINITY};
    float scale;
    int exponent;

    if (!kept)
        return change;
    frexp(size, &exponent);
    scale = ldexpf(1, -exponent / 2 < 126 ? -exponent / 2 : 126);
    for (unsigned ago = 1; ago <= kept->count; ago++)
        compare(kept, ago, values, scale, least, &change);
    keep(kept, values);
    return change;
}

/* ---- sketches ---- */

struct cgx_sketch cgx_sketch_of(const struct cgx_sample *sample)
{
    struct cgx_sketch sketch = {{0}, {0}};

    for (unsigned i = 0; i < CGX_LOOK_PLACES; i++) {
        float value = sample->values[i * sample->run];
        unsigned sign = value != 0 ? value > 0 : i & 1;

        sketch.signs[i / 8] |= (unsigned char)(sign << i % 8);
        sketch.nonzero[i / 8] |= (unsigned char)((unsigned)(value != 0) << i % 8);
    }
    return sketch;
}

bool cgx_sketch_agrees(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES])
{
    int places = 0, equal = 0;

    for (size_t i = 0; i < CGX_SKETCH_BYTES; i++) {
        unsigned nonzero = own->nonzero[i];

        places += __builtin_popcount(nonzero);
        equal += __builtin_popcount(nonzero & ~((unsigned)own->signs[i] ^ other[i]));
    }
    return places >= ALIKE_LEAST && 40 * equal >= 39 * places;
}

/* ---- a window ---- */

void cgx_window_clear(struct cgx_window *window)
{
    free(window->kept);
    *window = (struct cgx_window){.kept = NULL};
}

/* Whether a sum of SIZE is odd; forgets the sums before it if they are of another kind. */
static bool take_odd(struct cgx_window *window, double size)
{
    struct cgx_range range = range_of(&window->sizes);

    if (!is_odd(&range, size)) {
        window->odd = 0;
        return false;
    }
    if (++window->odd < ODD_ENOUGH)
        return true;
    window->odd = window->sizes.count = window->sizes.next = window->kept->count = 0;
    return false;
}

/* What a sum of SIZE, sampled as VALUES, shows beside the sums before it. */
static enum cgx_look judge(struct cgx_window *window, const float *values, double size,
                           bool symmetric)
{
    bool blind = window->kept->count < BLIND;
    struct change change = change_of(window->kept, values, size, STILL);

    cgx_sizes_add(&window->sizes, size);
    if (symmetric)
        return CGX_LOOK_SYMMETRIC;
    if (is_still(&change))
        return CGX_LOOK_STILL;
    if (is_steady(&window->sizes, 0) && change.nearest < NEAR)
        return CGX_LOOK_STEADY;
    return blind ? CGX_LOOK_UNKNOWN : CGX_LOOK_GRADIENT;
}

enum cgx_look cgx_window_look(struct cgx_window *window, const struct cgx_sample *sample,
                              const struct cgx_sum_traits *traits)
{
    double size = sample ? cgx_sample_size(sample) : 0;
    enum cgx_look look;

    window->looks++;
    if (!counts(size) || !window->kept)
        return CGX_LOOK_UNKNOWN;
    cgx_sizes_add(&window->all, size);
    if (traits->placed && take_odd(window, size))
        return CGX_LOOK_ODD;
    look = judge(window, sample->values, size, traits->symmetric);
    window->alike += traits->alike;
    window->gradient += look == CGX_LOOK_GRADIENT;
    if (cgx_look_is_state(look)) {
        window->state++;
        window->found = look;
    }
    return look;
}

static bool is_third(unsigned looks)
{
    return 3 * looks >= CGX_LOOK_WINDOW - BLIND;
}

static enum cgx_look conclude(const struct cgx_window *window)
{
    if (is_third(window->state))
        return window->found;
    if (is_wild(&window->all))
        return CGX_LOOK_WILD;
    return 4 * window->gradient >= CGX_LOOK_WINDOW ? CGX_LOOK_GRADIENT : CGX_LOOK_UNKNOWN;
}

enum { WORD_LEAST, WORD_GREATEST, WORD_ALIKE };

void cgx_window_vote(const struct cgx_window *window, uint32_t words[CGX_LOOK_WORDS])
{
    words[WORD_LEAST] = (uint32_t)conclude(window);
    words[WORD_GREATEST] = CGX_LOOKS - words[WORD_LEAST];
    words[WORD_ALIKE] = window->alike;
}

enum cgx_look cgx_window_judge(const uint32_t words[CGX_LOOK_WORDS])
{
    enum cgx_look worst = (enum cgx_look)(CGX_LOOKS - words[WORD_GREATEST]);

    if (words[WORD_LEAST] == CGX_LOOK_UNKNOWN || cgx_look_is_state(worst))
        return words[WORD_LEAST] == CGX_LOOK_UNKNOWN ? CGX_LOOK_UNKNOWN : worst;
    return is_third(words[WORD_ALIKE]) ? CGX_LOOK_ALIKE : worst;
}

/* ---- inputs ---- */

enum cgx_look cgx_inputs_look(struct cgx_inputs *inputs, const struct cgx_sample *input,
                              const struct cgx_range *range)
{
    double size = cgx_sample_size(input);
    const struct cgx_range own = range_of(&inputs->sizes);
    struct change change;

    if (!counts(size))
        return CGX_LOOK_UNKNOWN;
    change = change_of(inputs->kept, input->values, size, STILL_INPUT);
    if (is_odd(range ? range : &own, size))
        return CGX_LOOK_ODD;
    if (is_still(&change))
        return CGX_LOOK_STILL;
    if (!range && is_steady(&inputs->sizes, size) && change.nearest < NEAR)
        return CGX_LOOK_STEADY;
    return CGX_LOOK_GRADIENT;
}
