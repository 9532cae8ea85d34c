/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Chooses encodings, on the root. At each width a segment has the encoding that cgx_model_pick
 * selects, so one convex hull covers all families. */

#include <math.h>
#include <stdlib.h>

#include "policy/widths/adapt.h"
#include "policy/widths/adapt_account.h"
#include "policy/widths/adapt_model.h"
#include "policy/widths/allocate.h"

/* The encodings of a segment that has a choice, by width - 1. A width that it cannot have repeats
 * the encoding and the error of the next lower one. */
struct option {
    size_t segment;
    double errors[CGX_WIDTHS];
    uint8_t encodings[CGX_WIDTHS];
};

struct choice {
    struct cgx_share *shares;
    struct option *options; /* the segments of the shares */
    size_t nshares;
    double budget;  /* for the sum of errors */
    double error;   /* sum of errors with the present encodings */
    double cost;    /* sum of bits with the present widths */
    bool forbidden; /* a present width is out of its range, or a family is not allowed */
};

/* Sets OPTION, *LEAST and *MOST to what SEGMENT may have. False if it may have nothing. */
static bool find_option(const struct cgx_adapt_segment *segment, struct option *option,
                        unsigned *least, unsigned *most)
{
    *least = 0;
    for (unsigned width = 1; width <= CGX_WIDTHS; width++) {
        unsigned encoding = cgx_model_pick(segment, width);

        if (encoding > 0) {
            *least = *least > 0 ? *least : width;
            *most = width;
            option->encodings[width - 1] = (uint8_t)encoding;
            option->errors[width - 1] = cgx_model_error(segment, encoding);
        } else if (*least > 0) {
            option->encodings[width - 1] = option->encodings[width - 2];
            option->errors[width - 1] = option->errors[width - 2];
        }
    }
    return *least > 0;
}

/* The least width, from LEAST on and up to BASE, that the cap allows. */
static unsigned capped(const struct cgx_adapt_segment *segment, const struct option *option,
                       unsigned least, unsigned base)
{
    double allowed = CGX_ADAPT_CAP * cgx_model_second_moment(segment);

    /* An unknown second moment forbids nothing. */
    while (least < base && option->errors[least - 1] > allowed)
        least++;
    return least;
}

/* Sets the encoding of segment INDEX, whose family alone is chosen. If its families have different
 * widths, only one of them is allowed. */
static void choose_family(struct cgx_adapt *adapt, size_t index)
{
    const struct cgx_adapt_segment *segment = &adapt->segments[index];

    for (unsigned width = 1; width <= CGX_WIDTHS; width++) {
        unsigned encoding = cgx_model_pick(segment, width);

        if (encoding > 0)
            adapt->encodings[index] = (uint8_t)encoding;
    }
}

static void add_share(const struct cgx_adapt *adapt, size_t index, struct choice *choice)
{
    const struct cgx_adapt_segment *segment = &adapt->segments[index];
    const struct cgx_segment *about = segment->about;
    struct option *option = &choice->options[choice->nshares];
    unsigned base = cgx_encoding_width(cgx_model_base(adapt, segment)), least, most;

    if (!find_option(segment, option, &least, &most))
        return;
    least = capped(segment, option, least, base < most ? base : most);
    option->segment = index;
    choice->shares[choice->nshares++] = (struct cgx_share){.cost = (double)about->count,
                                                           .errors = option->errors,
                                                           .least = least,
                                                           .most = most,
                                                           .base = base};
    choice->budget += cgx_model_budget(adapt, segment);
    choice->error += cgx_model_error(segment, cgx_segment_encoding(about));
    choice->cost += (double)about->count * about->bits;
    choice->forbidden = choice->forbidden || about->bits < least || about->bits > most ||
                        !cgx_model_allows(segment, (enum cgx_family)about->family);
}

/* Prefers base widths if they cost less: their error is the whole budget, while the margin leaves a
 * part of the budget unspent. */
static void prefer_base(const struct cgx_adapt *adapt, struct choice *choice)
{
    double base = 0;

    for (size_t i = 0; i < choice->nshares; i++) {
        const struct cgx_share *share = &choice->shares[i];

        if (share->base < share->least || share->base > share->most)
            return;
        base += share->cost * share->base;
    }
    if (adapt->alpha < 1 || base > cgx_allocate_cost(choice->shares, choice->nshares))
        return;
    for (size_t i = 0; i < choice->nshares; i++)
        choice->shares[i].bits = choice->shares[i].base;
}

/* ---- the fallback ---- */

/* Sets the encoding of segment INDEX, whose width is chosen, to the base width plus WIDER, as far
 * as that is allowed. Returns its error. */
static double fall_back_at(struct cgx_adapt *adapt, size_t index, unsigned wider)
{
    const struct cgx_adapt_segment *segment = &adapt->segments[index];
    unsigned width = cgx_encoding_width(cgx_model_base(adapt, segment)) + wider, least, most;
    struct option option;

    if (!find_option(segment, &option, &least, &most))
        return 0;
    width = width < least ? least : width > most ? most : width;
    adapt->encodings[index] = option.encodings[width - 1];
    return option.errors[width - 1];
}

/* Sets base widths for all segments, each in the family with the least error. If their error
 * exceeds the budget, widens all segments by the same number of bits, the first that suffices.
 * Needs no memory, so it cannot fail. */
static void fall_back(struct cgx_adapt *adapt)
{
    double budget = 0, error = INFINITY;

    for (size_t i = 0; i < adapt->nsegments; i++) {
        if (!cgx_model_knows(&adapt->segments[i]))
            continue;
        if (cgx_segment_has_widths(adapt->segments[i].about))
            budget += cgx_model_budget(adapt, &adapt->segments[i]);
        else
            choose_family(adapt, i);
    }
    for (unsigned wider = 0; wider < CGX_WIDTHS && error > budget; wider++) {
        error = 0;
        for (size_t i = 0; i < adapt->nsegments; i++)
            if (cgx_model_knows(&adapt->segments[i]) &&
                cgx_segment_has_widths(adapt->segments[i].about))
                error += fall_back_at(adapt, i, wider);
        /* Then the budget is at least the error of base widths, whatever is known of it. */
        if (adapt->alpha >= 1)
            error = 0;
    }
}

/* ---- the choice ---- */

/* Copies the chosen encodings to the root's block. */
static void set_encodings(struct cgx_adapt *adapt, const struct choice *choice)
{
    for (size_t i = 0; i < choice->nshares; i++) {
        const struct option *option = &choice->options[i];

        adapt->encodings[option->segment] = option->encodings[choice->shares[i].bits - 1];
    }
}

/* Keeps all widths. A family still changes if that gains by itself. */
static void keep_widths(const struct cgx_adapt *adapt, const struct choice *choice)
{
    for (size_t i = 0; i < choice->nshares; i++)
        choice->shares[i].bits = adapt->segments[choice->options[i].segment].about->bits;
}

/* The budget within which the present widths may stay. */
static double kept_budget(const struct cgx_adapt *adapt, const struct choice *choice)
{
    return adapt->widened ? adapt->correction * choice->budget : choice->budget;
}

static void choose(struct cgx_adapt *adapt, struct choice *choice)
{
    for (size_t i = 0; i < adapt->nsegments; i++) {
        if (!cgx_model_knows(&adapt->segments[i]))
            continue;
        if (cgx_segment_has_widths(adapt->segments[i].about))
            add_share(adapt, i, choice);
        else
            choose_family(adapt, i);
    }
    /* If everything was zero, nothing is known of later steps. */
    if (!(choice->budget > 0) || !isfinite(choice->budget) ||
        cgx_allocate(choice->shares, choice->nshares,
                     CGX_ADAPT_MARGIN * adapt->correction * choice->budget) != CGX_OK)
        return;
    prefer_base(adapt, choice);
    if (!choice->forbidden && choice->error <= kept_budget(adapt, choice) &&
        cgx_allocate_cost(choice->shares, choice->nshares) >= CGX_ADAPT_GAIN * choice->cost)
        keep_widths(adapt, choice);
    set_encodings(adapt, choice);
}

void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    struct choice choice = {.nshares = 0};

    if (due == CGX_ADAPT_MEASURED)
        cgx_account_learn(adapt);
    if (cgx_account_falls_back(adapt, due)) {
        fall_back(adapt);
        return;
    }
    choice.shares = calloc(adapt->nsegments, sizeof choice.shares[0]);
    choice.options = calloc(adapt->nsegments, sizeof choice.options[0]);
    if (choice.shares && choice.options)
        choose(adapt, &choice);
    free(choice.shares);
    free(choice.options);
}
