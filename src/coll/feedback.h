/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a call shows of the segments of an adaptive plan, for struct cgx_feedback. */
#ifndef CGX_COLL_FEEDBACK_H
#define CGX_COLL_FEEDBACK_H

#include "coll/slice.h"

/* Empties the feedback, and the scales. */
void cgx_feedback_begin(const struct cgx_coll *coll);

/* All ranks know that they have no result. */
void cgx_feedback_void(const struct cgx_coll *coll);

/* The weight (finding.h) of PIECE, whose bucket headers are at HEADERS; NaN if one is poisoned. */
double cgx_feedback_weight(const struct cgx_plan *plan, const struct cgx_piece *piece,
                           const unsigned char *headers);

/* Adds the errors of what the slice has measured, which has been waited for with what was encoded
 * of it, and their weights. */
void cgx_feedback_errors(const struct cgx_slice *slice);

/* Call for the own part when it is sealed: its sum is complete. Adds the power of the sum, where
 * the host has its payload, and its weights. */
void cgx_feedback_second_moment(const struct cgx_slice *slice, const struct cgx_block *part);

#endif
