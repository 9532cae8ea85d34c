/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The model of errors and budgets for policy/widths/adapt.h. adapt_choice.c chooses with it. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_MODEL_H
#define CGX_POLICY_WIDTHS_ADAPT_MODEL_H

#include "policy/widths/adapt_state.h"

/* SUM over buckets of weight SEEN, extrapolated to weight ALL (finding.h). A sample of constant
 * buckets says nothing about others. */
double cgx_model_for_all(double sum, double seen, double all);

/* What the ENERGY of SEGMENT would be if its steps were its ranges. */
double cgx_model_range(const struct cgx_adapt_segment *segment, double energy);

/* Whether SEGMENT has been measured, and its width or family is chosen. */
bool cgx_model_knows(const struct cgx_adapt_segment *segment);

/* The error of SEGMENT in ENCODING, of an allowed family; NaN: unknown. */
double cgx_model_error(const struct cgx_adapt_segment *segment, unsigned encoding);

/* The present second moment of SEGMENT's sum; NaN: unknown. */
double cgx_model_second_moment(const struct cgx_adapt_segment *segment);

/* Whether SEGMENT may have FAMILY. If it must keep zeros, only families that keep them; otherwise
 * any that does not, and one that does if it shares a width with such a family. */
bool cgx_model_allows(const struct cgx_adapt_segment *segment, enum cgx_family family);

/* The encoding of WIDTH for SEGMENT: the family with the least error, unless a switch gains less
 * than CGX_ADAPT_SWITCH requires. 0: no family has that width, or nothing is known of it. */
unsigned cgx_model_pick(const struct cgx_adapt_segment *segment, unsigned width);

/* The encoding with the base width that SEGMENT's error is compared with. */
unsigned cgx_model_base(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment);

/* SEGMENT's contribution to the budget. */
double cgx_model_budget(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment);

/* Implements cgx_adapt_estimate. */
void cgx_model_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget);

/* Bases estimates on SUMMED, measured with the present widths, and corrects budgets by the ratio to
 * earlier estimates. Call once per choice. */
void cgx_model_take(struct cgx_adapt *adapt);

#endif
