/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: what the buckets of max-min quantisation say. */
#ifndef CGX_CODEC_MAXMIN_HOST_MAXMIN_H
#define CGX_CODEC_MAXMIN_HOST_MAXMIN_H

#include "codec/host_walk.h"

/* What the header of a bucket says. */
struct cgx_bucket_header {
    enum { CGX_SCALE_GRID, CGX_SCALE_CONSTANT, CGX_SCALE_POISON } kind;
    float u; /* 0 for a constant */
    int32_t z;
    float constant;
};

/* CGX_ERR_FORMAT if the header is none that an encoder writes. */
enum cgx_status cgx_maxmin_scale(const struct cgx_bucket *bucket, const unsigned char *payload,
                                 struct cgx_bucket_header *scale);

/* Writes the levels of a bucket to VALUES, or adds them if ADD; NaN if it is poisoned. */
void cgx_maxmin_levels(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                       const struct cgx_bucket_header *scale, const unsigned char *payload,
                       bool add, cgx_float32 *values);

/* ---- history scaling (codec.h) of one bucket, whose float32 are VALUES ---- */

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
