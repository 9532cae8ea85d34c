/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the buckets of a piece say on the host without being decoded. DATA is where the piece lies,
 * which is quantised: its bucket headers, then its codes (format.h). */
#ifndef CGX_CODEC_BUCKET_H
#define CGX_CODEC_BUCKET_H

#include "codec/codec.h"

/* Where the headers of PIECE, which is quantised, are in its payload; where pieces vary, all that
 * is before its codes. */
struct cgx_shown cgx_bucket_headers(const struct cgx_piece *piece, unsigned bucket_size);

/* u of bucket INDEX of PIECE, the step of its levels: 0 where it is constant, NaN where it is
 * poisoned. */
float cgx_bucket_scale(const struct cgx_piece *piece, const unsigned char *data, size_t index);

/* Whether bucket INDEX, of an encoding that has bounds, has a grid; *ZERO is its zero point. */
bool cgx_bucket_zero(const unsigned char *data, size_t index, int32_t *zero);

/* The quantisation energy of PIECE: the sum of n u^2 over its buckets, of n elements each; NaN if
 * one is poisoned, 0 if PIECE is exact. It is not for pieces that vary, which say the energy of all
 * their quantisations (uniform/uniform.h). */
double cgx_bucket_energy(const struct cgx_piece *piece, unsigned bucket_size,
                         const unsigned char *data);

/* Poisons bucket INDEX of PIECE, a sum, if the exact sum may be beyond the type's range, and
 * returns whether it did; never one of an encoding that has no bounds. SCALES: of all that went
 * into it before it was quantised. FACTOR: the most that its elements are multiplied
 * by when they are decoded. */
bool cgx_bucket_poison(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                       float scales, float factor, unsigned char *data);

/* ---- decoding single buckets ---- */

/* Single buckets as float32 on the host, whatever backend made them: for what looks at a sample of
 * a payload or of a buffer. The caller's floating-point modes must not matter (host_kernels.h,
 * cgx_float_enter). */

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
