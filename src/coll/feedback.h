/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Fills struct cgx_feedback: measurements of the segments of an adaptive plan during a call. */
#ifndef CGX_COLL_FEEDBACK_H
#define CGX_COLL_FEEDBACK_H

#include "coll/slice.h"

/* Clears the feedback and the scales. */
void cgx_feedback_begin(const struct cgx_coll *coll);

/* Records that no rank has a result. */
void cgx_feedback_void(const struct cgx_coll *coll);

/* The weight (finding.h) of PIECE with bucket headers at HEADERS; NaN if a bucket is poisoned. */
double cgx_feedback_weight(const struct cgx_plan *plan, const struct cgx_piece *piece,
                           const unsigned char *headers);

/* Adds the errors that the slice has measured, and their weights. The measurements and the encoding
 * must be complete. */
void cgx_feedback_errors(const struct cgx_slice *slice);

/* Adds the second moment of the sum, if the host has its payload, and its weights. To be called
 * when this rank's own part is sealed, so that its sum is complete. */
void cgx_feedback_second_moment(const struct cgx_slice *slice, const struct cgx_block *part);

#endif
