/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* When policy/widths/adapt.h chooses widths, and what guards its choices.
 *
 * Widths are chosen from the mean step. A step's share of a segment is the segment's energy over
 * the budget of all segments in that step. Shares are averaged, not energies: the energy of whole
 * steps varies by far more than the shares, and a plan depends on shares alone.
 *
 * Each step adds its error over budget, minus 1, to an account, which is never below 0. The widths
 * in use were chosen before the step, so the account is out of sample. When the account exceeds
 * CGX_ADAPT_ACCOUNT, all segments fall back to base widths, whose error is the budget. So the
 * excess between two changes of widths is at most CGX_ADAPT_ACCOUNT and that of one step.
 *
 * All of it follows from energies and rows that all ranks have alike. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_ACCOUNT_H
#define CGX_POLICY_WIDTHS_ADAPT_ACCOUNT_H

#include "policy/widths/adapt_state.h"

/* A step has gone by, whose energies the scales have. */
void cgx_account_step(struct cgx_adapt *adapt);

/* Whether the widths in use have cost too much. */
bool cgx_account_is_exceeded(const struct cgx_adapt *adapt);

/* The account was exceeded: forgets all shares. Returns the steps up to the next choice from a
 * measurement: CGX_ADAPT_LEAST, and up to a period where widths were exceeded again and again. */
unsigned cgx_account_fall(struct cgx_adapt *adapt);

/* At a choice from a measurement: steps up to the next one. */
unsigned cgx_account_next(const struct cgx_adapt *adapt);

/* Whether what is DUE is the fallback: the account is exceeded, or too few steps are known. */
bool cgx_account_falls_back(const struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* Before a choice from a measurement, which is in SUMMED: makes it what estimates are made from,
 * for the mean step. Acts once for each choice: the root learns before it chooses, and all ranks do
 * when they have its block. */
void cgx_account_learn(struct cgx_adapt *adapt);

/* Widths were chosen, for what was DUE, and are in the plans. */
void cgx_account_chosen(struct cgx_adapt *adapt, enum cgx_adapt_due due, bool changed);

#endif
