/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: what operations do with one bucket of a rotated encoding. */
#ifndef CGX_CODEC_HOST_ROTATED_H
#define CGX_CODEC_HOST_ROTATED_H

#include "codec/host_walk.h"

/* CGX_ENCODE, CGX_REDUCE and CGX_DECODE of BUCKET. */
enum cgx_status cgx_rotated_encode(const struct cgx_walk *walk, const struct cgx_work *work,
                                   const struct cgx_bucket *bucket);
enum cgx_status cgx_rotated_reduce(const struct cgx_walk *walk, const struct cgx_work *work,
                                   const struct cgx_bucket *bucket);
enum cgx_status cgx_rotated_decode(const struct cgx_walk *walk, const struct cgx_work *work,
                                   const struct cgx_bucket *bucket);

/* The elements that are there of BUCKET of PAYLOAD as float32, NaN if it is poisoned, and the
 * *STEP in its header. CGX_ERR_FORMAT if the header is none that an encoder writes. */
enum cgx_status cgx_rotated_elements(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                                     const unsigned char *payload, float *values, float *step);

#endif
