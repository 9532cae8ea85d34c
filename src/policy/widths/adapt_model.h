/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What policy/widths/adapt.h takes errors and budgets for, from what it knows. The choice is made
 * of them in adapt_choice.c. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_MODEL_H
#define CGX_POLICY_WIDTHS_ADAPT_MODEL_H

#include "policy/widths/adapt_state.h"

/* What SUM over buckets of weight SEEN is for those of weight ALL (finding.h). A sample of constant
 * buckets says nothing of others. */
double cgx_model_for_all(double sum, double seen, double all);

/* What the ENERGY of SEGMENT would be if its steps were its ranges. */
double cgx_model_range(const struct cgx_adapt_segment *segment, double energy);

/* Whether anything is known of SEGMENT, and something of it is chosen. */
bool cgx_model_knows(const struct cgx_adapt_segment *segment);

/* The error of SEGMENT in ENCODING, of a family that it can have; NaN: not known. */
double cgx_model_error(const struct cgx_adapt_segment *segment, unsigned encoding);

/* The second moment of the sum of SEGMENT, now; NaN: not known. */
double cgx_model_second_moment(const struct cgx_adapt_segment *segment);

/* Whether SEGMENT may have FAMILY: where zeros must be kept, one that keeps them; else any that
 * does not, and one that does where it has a width in common with such a one. */
bool cgx_model_allows(const struct cgx_adapt_segment *segment, enum cgx_family family);

/* The encoding of WIDTH that SEGMENT should have: of the family with the least error, unless what
 * it would gain by switching is less than CGX_ADAPT_SWITCH says. 0: no family has that width, or
 * nothing is known of it there. */
unsigned cgx_model_pick(const struct cgx_adapt_segment *segment, unsigned width);

/* The encoding that the error of SEGMENT is compared with, the base width. */
unsigned cgx_model_base(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment);

/* What SEGMENT adds to the budget. */
double cgx_model_budget(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment);

/* What policy/widths/adapt.h says of cgx_adapt_estimate. */
void cgx_model_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget);

/* Makes what is in SUMMED and was measured with the present widths what estimates are made from,
 * and corrects budgets by what it was taken for before: so, once for each choice. */
void cgx_model_take(struct cgx_adapt *adapt);

#endif
