/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: history scaling (codec.h) of one bucket with the float32 VALUES. */
#ifndef CGX_CODEC_HOST_HISTORY_H
#define CGX_CODEC_HOST_HISTORY_H

#include "codec/host_walk.h"

/* Returns the ELEMENTS of a complete bucket as float32, divided by their scales if there is a
 * history, with zeros behind those that exist: in place, or in ROOM. */
const cgx_float32 *cgx_history_widened(const struct cgx_walk *walk, const struct cgx_work *work,
                                       const struct cgx_bucket *bucket,
                                       const unsigned char *elements, float *room);

/* Multiplies the decoded VALUES by their scales and, if the bucket learns from this call, updates
 * the history with them. */
void cgx_history_restore(const struct cgx_walk *walk, const struct cgx_work *work,
                         const struct cgx_bucket *bucket, cgx_float32 *values);

#endif
