/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What policy/adapt.h takes errors and budgets for, from what it knows; the choice is made there.
 */
#ifndef CGX_POLICY_ADAPT_MODEL_H
#define CGX_POLICY_ADAPT_MODEL_H

#include "policy/adapt.h"

/* What the ENERGY of SEGMENT would be if its steps were its ranges. */
double cgx_model_range(const struct cgx_adapt_segment *segment, double energy);

/* Estimated error of all layers over their budget; 0 where both are 0. */
double cgx_model_over(const struct cgx_adapt *adapt);

/* Makes what is in SUMMED and was measured with the present widths what estimates are made from. */
void cgx_model_take(struct cgx_adapt *adapt);

#endif
