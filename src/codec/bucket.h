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

/* ---- decoding single buckets ---- */

/* Decodes single buckets to float32 on the host, whichever backend wrote them, to sample a payload
 * or buffer. The caller's floating-point modes must not matter (host_kernels.h,
 * cgx_float_enter). */

/* Decodes bucket INDEX of PIECE into VALUES, cgx_bucket_elements of them, NaN if it is poisoned;
 * the piece's offset is from PAYLOAD. *SCALE: the step u, or 0 if the bucket is constant or not
 * quantised. If levels are not evenly spaced, *SCALE is such that the squared error of an element
 * is about u^2 / 12. CGX_ERR_FORMAT: no encoder writes such a header. */
enum cgx_status cgx_peek_bucket(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                size_t index, const unsigned char *payload, float *values,
                                float *scale);

/* Converts COUNT elements of DTYPE, which may be misaligned, to float32. */
void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values);

#endif
