/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Widths layer by layer (CGX, Middleware '22, section 4): the fewest bytes whose squared error is
 * within a budget and, if CGX_CODEC leaves it open, the family with the least error at each width.
 * The errors of all widths are measured in the last steps of each period and then summed over the
 * ranks. Between measurements errors are scaled by what messages show of the segments (struct
 * cgx_feedback). Families are chosen after CGX_ADAPT_FIRST steps, widths from CGX_ADAPT_LEAST steps
 * on, for the mean step. If steps exceed the budget for long, all ranks fall back to base widths
 * (adapt_account.h).
 *
 * The budget is alpha times the error of the base width. If the measured error of the widths in use
 * exceeds the model's prediction, later budgets shrink in proportion (CORRECTION). No width below
 * the base width is chosen whose error exceeds CGX_ADAPT_CAP of the power of the segment's sum;
 * between measurements the power is scaled as errors are. If ranks nearly cancel out, even the base
 * width may exceed that cap: this is accepted, since more bits would cost more than no adaptation,
 * and might go to another, biased family.
 *
 * Families other than max-min quantisation have an error that is a known fraction of what is
 * quantised, so the errors of all families are known in each. A change of family must gain
 * CGX_ADAPT_SWITCH. families.h decides which segments must keep zeros, whatever the errors.
 *
 * Pure logic: callers sum the ranks' measurements and distribute the root's choice. Everything that
 * decides whether they do so is the same on all ranks. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_H
#define CGX_POLICY_WIDTHS_ADAPT_H

#include "policy/widths/adapt_state.h"

/* Copies those of PLANS that are adaptive, at least one, indexed by position; others may be NULL.
 * NULL if memory is short. */
struct cgx_adapt *cgx_adapt_create(const struct cgx_settings *settings,
                                   const struct cgx_plan *const *plans, size_t nplans);
void cgx_adapt_free(struct cgx_adapt *adapt);

/* Whether calls of this step are measured. */
bool cgx_adapt_measures(const struct cgx_adapt *adapt);

/* Whether inputs of this step's calls are sampled (families.h): it is the last step before a choice
 * from a measurement. */
bool cgx_adapt_samples_input(const struct cgx_adapt *adapt);

/* Which buckets are then measured: the shorter the measurement, the more. */
struct cgx_sampling cgx_adapt_sampling(const struct cgx_adapt *adapt);

/* Ends a step. Layers whose energies are as this function left them were not in it. Returns what
 * ranks must do now. */
enum cgx_adapt_due cgx_adapt_step(struct cgx_adapt *adapt);

/* Before a choice from a measurement: segments of LAYER may have any family if ANY is 1, and from
 * the choice on only families that keep zeros if ANY is 0. */
void cgx_adapt_allow(struct cgx_adapt *adapt, struct cgx_adapt_layer *layer, const uint8_t *any);

/* On the root, with SUMMED complete: sets ENCODINGS. If memory is short, the present ones stay as
 * far as they are allowed. */
void cgx_adapt_choose(struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* On all ranks, with the root's block: sets the encodings of the plans. True if any changed. */
bool cgx_adapt_take(struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* Bytes of the root's block, which begins at SUMMED. */
size_t cgx_adapt_block(const struct cgx_adapt *adapt);

/* The estimated squared error of LAYER over all ranks, and its share of the budget, without
 * segments of fixed width. */
void cgx_adapt_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget);

#endif
