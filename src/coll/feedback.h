/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Fills struct cgx_feedback: measurements of the segments of an adaptive plan during a call. */
#ifndef CGX_COLL_FEEDBACK_H
#define CGX_COLL_FEEDBACK_H

#include "coll/slice.h"

/* Clears the feedback. */
void cgx_feedback_begin(const struct cgx_coll *coll);

/* Records that no rank has a result. */
void cgx_feedback_void(const struct cgx_coll *coll);

/* Adds the errors measured in the slice, and their weights. FROM: the payloads that were summed,
 * besides elements. The measurements and the encoding must be complete. */
void cgx_feedback_errors(const struct cgx_slice *slice, const struct cgx_payloads *from);

/* The bytes of staging memory, a multiple of CGX_PIECE_ALIGNMENT, for the second moments of PART.
 */
size_t cgx_feedback_room(const struct cgx_slice *slice, const struct cgx_block *part);

/* Queues the second moments of PART, a sum that is queued, if only the device has its payload. If
 * that fails they are unknown, and the call goes on. */
void cgx_feedback_queue(struct cgx_slice *slice, const struct cgx_block *part);

/* Adds the second moment of PART, this rank's own, and its weights. To be called when it is sealed,
 * so that its sum is complete. */
void cgx_feedback_second_moment(struct cgx_slice *slice, const struct cgx_block *part,
                                const struct cgx_payloads *from);

#endif
