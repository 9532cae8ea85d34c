/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Single buckets as float32 on the host, whatever backend made them: for what looks at a sample of
 * a payload or of a buffer. The caller's floating-point modes must not matter (host_kernels.h,
 * cgx_float_enter). */
#ifndef CGX_CODEC_PEEK_H
#define CGX_CODEC_PEEK_H

#include "codec/codec.h"

/* Decodes bucket INDEX of PIECE of PAYLOAD, which lies as the piece's offset says, into VALUES:
 * cgx_bucket_elements of them, NaN where it is poisoned. *SCALE: u, the distance of levels; 0 where
 * the bucket is constant or not quantised; where levels are not as far from each other, such a u
 * that the squared error of the elements is about u^2 / 12. CGX_ERR_FORMAT if the header is none
 * that an encoder writes.
 */
enum cgx_status cgx_peek_bucket(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                size_t index, const unsigned char *payload, float *values,
                                float *scale);

/* Where the codes of bucket INDEX of PIECE are, which is quantised, in up to CGX_PLANES runs, and
 * how many these are. With the header of the bucket they are what cgx_peek_bucket reads. */
size_t cgx_peek_codes(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                      struct cgx_shown *runs);

/* COUNT elements of DTYPE, which may be misaligned, as float32. */
void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values);

#endif
