/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Decides when policy/widths/adapt.h chooses widths, and guards its choices.
 *
 * Widths are chosen for the mean step. A step's share of a segment is the segment's energy over the
 * budget of all segments in that step. Shares are averaged instead of energies, since whole steps
 * vary by far more than shares, and a plan depends on shares only.
 *
 * Each step adds its error over budget, minus 1, to an account, which is never below 0. The widths
 * in use were chosen before the step, so the account is out of sample. When it exceeds
 * CGX_ADAPT_ACCOUNT, all segments fall back to base widths, whose error is the budget. So between
 * two changes of widths the excess is at most CGX_ADAPT_ACCOUNT plus that of one step.
 *
 * Everything follows from energies and rows that all ranks share. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_ACCOUNT_H
#define CGX_POLICY_WIDTHS_ADAPT_ACCOUNT_H

#include "policy/widths/adapt_state.h"

/* Accounts for a step whose energies are in the scales. */
void cgx_account_step(struct cgx_adapt *adapt);

/* Whether the widths in use have exceeded the account. */
bool cgx_account_is_exceeded(const struct cgx_adapt *adapt);

/* After the account was exceeded: forgets all shares. Returns the steps until the next choice from
 * a measurement: CGX_ADAPT_LEAST, and up to a period after repeated fallbacks. */
unsigned cgx_account_fall(struct cgx_adapt *adapt);

/* At a choice from a measurement: the steps until the next. */
unsigned cgx_account_next(const struct cgx_adapt *adapt);

/* Whether what is DUE is the fallback: the account is exceeded, or too few steps are known. */
bool cgx_account_falls_back(const struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* Before a choice from the measurement in SUMMED: bases estimates on it, for the mean step. Acts
 * once per choice: on the root before it chooses, on other ranks when they have its block. */
void cgx_account_learn(struct cgx_adapt *adapt);

/* After a choice for DUE whose widths are in the plans. */
void cgx_account_chosen(struct cgx_adapt *adapt, enum cgx_adapt_due due, bool changed);

#endif
