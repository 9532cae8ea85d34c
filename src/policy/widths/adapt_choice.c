/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The choice of encodings, on the root: of the encoding that each width of a segment has
 * (cgx_model_pick), so that the hull of all is that of the union of both families'. */

#include <math.h>
#include <stdlib.h>

#include "policy/widths/adapt.h"
#include "policy/widths/adapt_account.h"
#include "policy/widths/adapt_model.h"
#include "policy/widths/allocate.h"

/* A segment that something is chosen for, by width - 1. A width that it cannot have has the
 * encoding and the error of the one below. */
struct option {
    size_t segment;
    double errors[CGX_WIDTHS];
    uint8_t encodings[CGX_WIDTHS];
};

struct choice {
    struct cgx_share *shares;
    struct option *options; /* of the shares */
    size_t nshares;
    double budget;  /* of all errors */
    double error;   /* with the present encodings */
    double cost;    /* bits of the present widths */
    bool forbidden; /* some present width is below the cap or above all, or a family not allowed */
};

/* Sets OPTION to what SEGMENT can have, from *LEAST to *MOST; false: to nothing. */
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

/* The least width from LEAST on that the cap allows, up to BASE. */
static unsigned capped(const struct cgx_adapt_segment *segment, const struct option *option,
                       unsigned least, unsigned base)
{
    double allowed = CGX_ADAPT_CAP * cgx_model_second_moment(segment);

    /* A second moment that is not known forbids nothing. */
    while (least < base && option->errors[least - 1] > allowed)
        least++;
    return least;
}

/* Sets the encoding of segment INDEX, whose width is not chosen. Where it has another in each
 * family only one of them is allowed. */
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

/* Where base widths cost less they are the choice: their error is the budget, of which the margin
 * leaves a part unspent. */
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

/* Sets the encoding of segment INDEX, whose width is chosen, to that of a width so much WIDER than
 * the base width, as far as it is allowed. Returns its error. */
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

/* Base widths for all, each in the family with the least error; where the budget is below their
 * error, the first width for all that is within it. Takes no memory, so it never fails. */
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
        /* It is the error of the base widths, so there are no others for it. */
        if (adapt->alpha >= 1)
            error = 0;
    }
}

/* ---- the choice ---- */

/* The chosen encodings go to the block. */
static void set_encodings(struct cgx_adapt *adapt, const struct choice *choice)
{
    for (size_t i = 0; i < choice->nshares; i++) {
        const struct option *option = &choice->options[i];

        adapt->encodings[option->segment] = option->encodings[choice->shares[i].bits - 1];
    }
}

/* Widths stay; a family that gains by itself does not. */
static void keep_widths(const struct cgx_adapt *adapt, const struct choice *choice)
{
    for (size_t i = 0; i < choice->nshares; i++)
        choice->shares[i].bits = adapt->segments[choice->options[i].segment].about->bits;
}

/* What of the budget the widths in use may have, not to be changed. */
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
    /* Zeros say nothing of what comes after them. */
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
