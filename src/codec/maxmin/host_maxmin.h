/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: reading buckets of max-min quantisation. */
#ifndef CGX_CODEC_MAXMIN_HOST_MAXMIN_H
#define CGX_CODEC_MAXMIN_HOST_MAXMIN_H

#include "codec/host_walk.h"

struct cgx_bucket_header {
    enum { CGX_SCALE_GRID, CGX_SCALE_CONSTANT, CGX_SCALE_POISON } kind;
    float u; /* 0 for a constant */
    int32_t z;
    float constant;
};

/* CGX_ERR_FORMAT: no encoder writes such a header. */
enum cgx_status cgx_maxmin_scale(const struct cgx_bucket *bucket, const unsigned char *payload,
                                 struct cgx_bucket_header *scale);

/* Writes the levels of a bucket to VALUES, or adds them if ADD; NaN if the bucket is poisoned. */
void cgx_maxmin_levels(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                       const struct cgx_bucket_header *scale, const unsigned char *payload,
                       bool add, cgx_float32 *values);

#endif
