/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the host can read from the buckets of a quantised piece without decoding it. DATA points to
 * the piece: bucket headers, then codes (format.h). */
#ifndef CGX_CODEC_BUCKET_H
#define CGX_CODEC_BUCKET_H

#include "codec/codec.h"

/* The step u of bucket INDEX: 0 if the bucket is constant, NaN if it is poisoned. */
float cgx_bucket_scale(const struct cgx_piece *piece, const unsigned char *data, size_t index);

/* The header of bucket INDEX, of an encoding with headers. */
uint32_t cgx_bucket_header(const unsigned char *data, size_t index);

/* Converts COUNT elements of DTYPE, which may be misaligned, to float32. The caller's
 * floating-point modes must not matter (host_kernels.h, cgx_float_enter). */
void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values);

#endif
