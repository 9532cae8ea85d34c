/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What policy/adapt.h takes errors and budgets for, from what it knows. */
#ifndef CGX_POLICY_ADAPT_MODEL_H
#define CGX_POLICY_ADAPT_MODEL_H

#include "policy/adapt.h"

/* Whether anything is known of SEGMENT, whose width can change. */
bool cgx_model_knows(const struct cgx_adapt_segment *segment);

/* The width that the error of SEGMENT is compared with. */
unsigned cgx_model_base(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment);

/* What the ENERGY of SEGMENT would be if its steps were its ranges. */
double cgx_model_range(const struct cgx_adapt_segment *segment, double energy);

/* The error of SEGMENT at BITS. Where nothing was measured that could be scaled, of elements spread
 * evenly between the levels: n u^2 / 12, or twice that. */
double cgx_model_error(const struct cgx_adapt_segment *segment, unsigned bits);

/* The least width of SEGMENT that the cap allows. */
unsigned cgx_model_least(const struct cgx_adapt_segment *segment);

/* Whether all layers' change is less than their noise. */
bool cgx_model_changes_less(const struct cgx_adapt *adapt);

/* What SEGMENT adds to the budget; CHANGES_LESS as above. */
double cgx_model_budget(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment,
                        bool changes_less);

/* Estimated error of all layers over their budget; 0 where both are 0. */
double cgx_model_over(const struct cgx_adapt *adapt);

/* Makes what is in SUMMED and was measured with the present widths what estimates are made from. */
void cgx_model_take(struct cgx_adapt *adapt);

#endif
