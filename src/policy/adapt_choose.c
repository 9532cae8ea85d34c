/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdlib.h>

#include "policy/adapt_model.h"
#include "policy/allocate.h"

struct choice {
    struct cgx_share *shares;
    double (*errors)[CGX_WIDTHS];
    size_t nshares;
    double budget; /* of all errors */
    double error;  /* with the present widths */
    double cost;   /* bits of the present widths */
    bool changes_less;
    bool forbidden; /* some present width is below the cap */
};

static void add_share(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment,
                      struct choice *choice)
{
    const struct cgx_segment *about = segment->about;
    unsigned least = cgx_model_least(segment);
    double *errors = choice->errors[choice->nshares];

    for (unsigned bits = 1; bits <= CGX_WIDTHS; bits++)
        errors[bits - 1] = bits > 1 || segment->plan->rounding == CGX_ROUNDING_NEAREST
                               ? cgx_model_error(segment, bits)
                               : 0;
    choice->shares[choice->nshares++] = (struct cgx_share){.cost = (double)about->count,
                                                           .errors = errors,
                                                           .least = least,
                                                           .most = about->most,
                                                           .base = cgx_model_base(adapt, segment)};
    choice->budget += cgx_model_budget(adapt, segment, choice->changes_less);
    choice->error += errors[about->bits - 1];
    choice->cost += (double)about->count * about->bits;
    choice->forbidden = choice->forbidden || about->bits < least;
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
    if (adapt->kind != CGX_BUDGET_ERROR || adapt->alpha < 1 ||
        base > cgx_allocate_cost(choice->shares, choice->nshares))
        return;
    for (size_t i = 0; i < choice->nshares; i++)
        choice->shares[i].bits = choice->shares[i].base;
}

/* The chosen widths go to the block, in the order of add_share. */
static void set_widths(struct cgx_adapt *adapt, const struct choice *choice)
{
    size_t share = 0;

    for (size_t i = 0; i < adapt->nsegments; i++)
        if (cgx_model_knows(&adapt->segments[i]))
            adapt->widths[i] = (uint8_t)choice->shares[share++].bits;
}

static void choose(struct cgx_adapt *adapt, struct choice *choice)
{
    choice->changes_less = cgx_model_changes_less(adapt);
    for (size_t i = 0; i < adapt->nsegments; i++)
        if (cgx_model_knows(&adapt->segments[i]))
            add_share(adapt, &adapt->segments[i], choice);
    if (!isfinite(choice->budget) ||
        cgx_allocate(choice->shares, choice->nshares, CGX_ADAPT_MARGIN * choice->budget) != CGX_OK)
        return;
    prefer_base(adapt, choice);
    if (adapt->choices == 0 || choice->forbidden || choice->error > choice->budget ||
        cgx_allocate_cost(choice->shares, choice->nshares) < CGX_ADAPT_GAIN * choice->cost)
        set_widths(adapt, choice);
}

void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due)
{
    struct choice choice = {.shares = calloc(adapt->nsegments, sizeof(struct cgx_share)),
                            .errors = calloc(adapt->nsegments, sizeof(double[CGX_WIDTHS]))};

    if (due == CGX_ADAPT_MEASURED)
        cgx_model_take(adapt);
    if (choice.shares && choice.errors)
        choose(adapt, &choice);
    free(choice.shares);
    free(choice.errors);
}
