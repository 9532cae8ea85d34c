/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: history scaling (codec.h) of one bucket, whose float32 are VALUES. */
#ifndef CGX_CODEC_HOST_HISTORY_H
#define CGX_CODEC_HOST_HISTORY_H

#include "codec/host_walk.h"

/* Whether the buckets of the piece have history, which the others need. */
static inline bool cgx_has_history(const struct cgx_walk *walk, const struct cgx_work *work)
{
    return work->history.scales && walk->coding->rounding == CGX_ROUNDING_NEAREST;
}

/* By their scales; and back. */
void cgx_history_divide(const struct cgx_walk *walk, const struct cgx_work *work,
                        const struct cgx_bucket *bucket, float *values);
void cgx_history_multiply(const struct cgx_walk *walk, const struct cgx_work *work,
                          const struct cgx_bucket *bucket, cgx_float32 *values);

/* All ELEMENTS of a bucket that has as many as the walk's size, as float32, divided by their scales
 * if they have some, with zeros behind those that are there. They are where they were, or in ROOM.
 */
const cgx_float32 *cgx_history_widened(const struct cgx_walk *walk, const struct cgx_work *work,
                                       const struct cgx_bucket *bucket,
                                       const unsigned char *elements, float *room);

/* Enters RESULTS, where the bucket is to learn from the call. */
void cgx_history_enter(const struct cgx_walk *walk, const struct cgx_work *work,
                       const struct cgx_bucket *bucket, const cgx_float32 *results);

#endif
