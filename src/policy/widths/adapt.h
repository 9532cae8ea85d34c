/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Widths layer by layer (CGX, Middleware '22, section 4): the fewest bytes whose squared error is
 * within a budget; and, where CGX_CODEC leaves it open, the family with the least error at each
 * width. The errors of all widths are measured in the last steps of each period, and what
 * all ranks found is added up at its end; between measurements it is scaled by what messages show
 * of the segments (struct cgx_feedback). Families are chosen after CGX_ADAPT_FIRST steps, widths
 * from CGX_ADAPT_LEAST steps on, for the mean step; where steps exceed the budget for long, all
 * ranks fall back to base widths (adapt_account.h).
 *
 * The budget is alpha times the error that the base width would have. What was measured at the end
 * of a period, at the widths in use, may be more than the model took it for. Then later budgets are
 * smaller in proportion (CORRECTION). No width below the base width is chosen whose error exceeds
 * CGX_ADAPT_CAP of the power of the segment's sum. Between measurements the power is scaled as
 * errors are. Where ranks nearly cancel out even the base width may exceed it, and so be it: more
 * bits would cost more than no choice at all, and may be another family's, which is biased.
 *
 * Other families than max-min quantisation have an error that is a known part of what is quantised,
 * so that all families are known in each: a change of family must gain CGX_ADAPT_SWITCH. What must
 * keep zeros, whatever the errors, families.h tells.
 *
 * Pure logic: others add the ranks' measurements up and pass the root's choice on. All that decides
 * whether they do is the same on all ranks. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_H
#define CGX_POLICY_WIDTHS_ADAPT_H

#include "policy/widths/adapt_state.h"

/* For those among PLANS that are placed, at least one, which are copied, by position; others may be
 * NULL. NULL if memory is short. */
struct cgx_adapt *cgx_adapt_create(const struct cgx_settings *settings,
                                   const struct cgx_plan *const *plans, size_t nplans);
void cgx_adapt_free(struct cgx_adapt *adapt);

/* Whether calls of the present step are measured. */
bool cgx_adapt_measures(const struct cgx_adapt *adapt);

/* Whether what goes into calls of the present step is sampled (families.h): it is the last before
 * a choice from a measurement. */
bool cgx_adapt_samples_input(const struct cgx_adapt *adapt);

/* Which buckets are, then: the shorter the measurement, the more. */
struct cgx_sampling cgx_adapt_sampling(const struct cgx_adapt *adapt);

/* A step has gone by; layers whose energies are as this left them were not in it. Returns what
 * ranks have to do now. */
enum cgx_adapt_due cgx_adapt_step(struct cgx_adapt *adapt);

/* Before a choice from a measurement: segments of LAYER may have any family where ANY is 1, and
 * from the choice on have one that keeps zeros where it is 0. */
void cgx_adapt_allow(struct cgx_adapt *adapt, struct cgx_adapt_layer *layer, const uint8_t *any);

/* On the root, which has SUMMED: sets ENCODINGS. If memory is short the present ones stay, as far
 * as they are allowed. */
void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* On all ranks, which have the root's block: sets the encodings of the plans. True if any changed.
 */
bool cgx_adapt_take(struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* Bytes of the block from SUMMED on. */
size_t cgx_adapt_block(const struct cgx_adapt *adapt);

/* Estimated squared error of LAYER, all ranks', and its part of the budget; segments of fixed width
 * count for nothing. */
void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget);

#endif
