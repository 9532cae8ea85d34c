/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: history scaling (codec.h) of one bucket, whose float32 are VALUES. */
#ifndef CGX_CODEC_MAXMIN_HOST_HISTORY_H
#define CGX_CODEC_MAXMIN_HOST_HISTORY_H

#include "codec/host_walk.h"

/* Whether the buckets of the piece have history, which all but the last need. */
static inline bool cgx_has_history(const struct cgx_walk *walk, const struct cgx_work *work)
{
    return work->history.scales && walk->coding->rounding == CGX_ROUNDING_NEAREST;
}

/* By their scales; and back. */
void cgx_history_divide(const struct cgx_walk *walk, const struct cgx_work *work,
                        const struct cgx_bucket *bucket, float *values);
void cgx_history_multiply(const struct cgx_walk *walk, const struct cgx_work *work,
                          const struct cgx_bucket *bucket, cgx_float32 *values);

/* Enters RESULTS. ROOM: for as many as a bucket has. */
void cgx_history_enter(const struct cgx_walk *walk, const struct cgx_work *work,
                       const struct cgx_bucket *bucket, const cgx_float32 *results, float *room);

/* Whether a last sum, VALUES, the steps of whose sources add up to STEPS, may be beyond the type
 * when it is multiplied. Without history it is not. ROOM: for as many values. */
bool cgx_history_overflows(const struct cgx_walk *walk, const struct cgx_work *work,
                           const struct cgx_bucket *bucket, const float *values, float steps,
                           float *room);

#endif
