/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The codec once more, slowly and straight from doc/format.md: bit by bit, in double, sharing no
 * arithmetic and no layout with src/codec: max-min quantisation, and elements as they are. */
#ifndef CGX_TESTS_CODEC_REFERENCE_H
#define CGX_TESTS_CODEC_REFERENCE_H

#include <stdint.h>

#include "codec/codec.h"

/* The bytes of a piece of COUNT elements. */
size_t reference_bytes(size_t count, unsigned bits, unsigned bucket_size, enum cgx_dtype dtype);

/* The element as a float32, and the float32 as an element: IEEE conversions, canonical NaN. */
float reference_widen(enum cgx_dtype dtype, const void *elements, size_t index);
void reference_narrow(enum cgx_dtype dtype, float value, void *elements, size_t index);

/* As the operations of struct cgx_codec, of one piece, for payloads that an encoder wrote. */
void reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const void *buffer, unsigned char *payload);
void reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *payload, void *buffer);
void reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *const *sources, size_t nsources, const void *buffer,
                      unsigned char *payload);

/* Element INDEX of the sum of SOURCES of a piece, neither rounded nor quantised. */
float reference_sum(const struct cgx_coding *coding, const struct cgx_piece *piece,
                    const unsigned char *const *sources, size_t nsources, const void *buffer,
                    size_t index);

/* The step of the bucket that holds element INDEX of the piece; 0 if it is constant. */
float reference_step(const struct cgx_coding *coding, const struct cgx_piece *piece,
                     const unsigned char *payload, size_t index);

/* The sum of the squares of a bucket of SIZE elements, in the order of sums over a bucket. */
float reference_square_sum(const float *x, size_t size);

#endif
