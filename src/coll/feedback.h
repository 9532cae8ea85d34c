/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a call shows of the segments of an adaptive plan, for struct cgx_feedback. Behind the pieces
 * of a payload there is the energy of each, the sum of n u^2 over the buckets, of n elements and
 * step u, of every quantisation that went into it; NaN if one was poisoned. So all ranks see the
 * same without a message more. */
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

/* Call after each quantisation of PART. FROM: what it was summed from. Writes the energies, where
 * widths are adaptive, and takes note of the scales, where they are wanted. */
void cgx_feedback_seal(const struct cgx_slice *slice, const struct cgx_block *part,
                       const struct cgx_payloads *from);

/* Adds the energies of all parts, which have arrived. */
void cgx_feedback_energies(const struct cgx_slice *slice);

/* Adds the errors of what the slice has measured, which has been waited for with what was encoded
 * of it, and their weights. */
void cgx_feedback_errors(const struct cgx_slice *slice);

/* Call after cgx_feedback_seal for the own part, when its sum is complete. Adds the power of the
 * sum, where the host has its payload, and its weights. */
void cgx_feedback_power(const struct cgx_slice *slice, const struct cgx_block *part);

#endif
