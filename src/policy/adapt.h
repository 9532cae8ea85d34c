/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Widths layer by layer (CGX, Middleware '22, section 4): the fewest bytes whose squared error is
 * at most alpha times that of the base width. The errors of all widths are measured once a period;
 * between measurements they are scaled by what messages show of the segments (struct cgx_tally),
 * and where that says that the budget is exceeded, widths are chosen anew at once.
 *
 * Pure logic: others add the ranks' measurements up and pass the root's choice on. All that decides
 * whether they do is the same on all ranks. */
#ifndef CGX_POLICY_ADAPT_H
#define CGX_POLICY_ADAPT_H

#include "codec/measure.h"
#include "policy/plan.h"

/* Compressed steps at the base width before the first choice. */
#define CGX_ADAPT_FIRST 3

/* Where a choice does not keep the budget: growth of the estimated error over budget beyond which
 * widths are chosen at once. */
#define CGX_ADAPT_EXCEEDED 1.1

/* Growth of a segment's spread, since it was measured, after which the next step is measured. */
#define CGX_ADAPT_OUTGROWN 1e6

/* Part of the budget that a choice spends: what was measured is a sample of a step that is over. */
#define CGX_ADAPT_MARGIN 0.95

/* Cost of a choice over that of the widths there are, above which these stay if they are within the
 * budget: widths do not flutter. */
#define CGX_ADAPT_GAIN 0.98

/* One recurring buffer: a position of the step. */
struct cgx_adapt_layer {
    struct cgx_plan *plan;          /* NULL: the position has none; owned */
    double *spreads;                /* for struct cgx_tally, as are the errors that ... */
    double (*measured)[CGX_WIDTHS]; /* ... this rank measures */
    double (*summed)[CGX_WIDTHS];   /* and those of all ranks, added up */
    double (*errors)[CGX_WIDTHS];   /* ... when they were last finite; NaN: never */
    double *reference;              /* what the spreads were then, as if with steps of 1 bit */
    double *scale;                  /* of the errors since */
};

struct cgx_adapt {
    unsigned base, period;
    double alpha;
    uint64_t steps;   /* that have gone by */
    uint64_t choices; /* that have been made */
    unsigned left;    /* steps up to the next choice from a measurement */
    double allowed;   /* estimated error over budget beyond which widths are chosen at once */
    size_t nsegments; /* of all layers */
    double (*measured)[CGX_WIDTHS]; /* of all segments, in one piece */
    /* What the root sends, in one block: the sums of the ranks' measurements, then widths. */
    double (*summed)[CGX_WIDTHS];
    uint8_t *widths;
    size_t nlayers; /* positions of the step */
    struct cgx_adapt_layer layers[];
};

/* For the adaptive ones among PLANS, at least one, which are copied, by position; others may be
 * NULL. NULL if memory is short. */
struct cgx_adapt *cgx_adapt_create(const struct cgx_settings *settings,
                                   const struct cgx_plan *const *plans, size_t nplans);
void cgx_adapt_free(struct cgx_adapt *adapt);

/* Whether calls of the present step are measured. */
bool cgx_adapt_measures(const struct cgx_adapt *adapt);

/* A step has gone by. What ranks have to do now, before the next: */
enum cgx_adapt_due {
    CGX_ADAPT_NOTHING,
    CGX_ADAPT_MEASURED, /* add all ranks' MEASURED up into the root's SUMMED, then as for scaled */
    CGX_ADAPT_SCALED,   /* the root chooses, all take its block */
};
enum cgx_adapt_due cgx_adapt_step(struct cgx_adapt *adapt);

/* On the root, which has SUMMED: sets WIDTHS. If memory is short the
 * present ones stay. */
void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* On all ranks, which have the root's block: sets the widths of the plans. True if any changed. */
bool cgx_adapt_take(struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* Bytes of the block from SUMMED on. */
size_t cgx_adapt_block(const struct cgx_adapt *adapt);

/* Estimated squared errors of LAYER, all ranks': with its present widths and with the base width;
 * segments of fixed width count for nothing. */
void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *now, double *base);

#endif
