/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How the elements of a piece are stored, by a number: 1 to 8 is max-min quantisation (quant.h) at
 * as many bits, CGX_ROTATED + 1 to CGX_ROTATED + 5 rotated quantisation (rotated.h) at 1 to 5,
 * CGX_BITS_EXACT the elements as they are. What an encoding takes, and how far its elements are
 * from what they stand for. */
#ifndef CGX_CODEC_ENCODING_H
#define CGX_CODEC_ENCODING_H

#include "codec/format.h"

#define CGX_ROTATED 16

static inline bool cgx_encoding_is_exact(unsigned encoding)
{
    return encoding == CGX_BITS_EXACT;
}

static inline bool cgx_encoding_is_rotated(unsigned encoding)
{
    return encoding > CGX_ROTATED && encoding <= CGX_ROTATED + CGX_ROTATED_WIDTHS;
}

/* Bits of an element; of one that is not quantised, CGX_BITS_EXACT. */
static inline unsigned cgx_encoding_width(unsigned encoding)
{
    return cgx_encoding_is_rotated(encoding) ? encoding - CGX_ROTATED : encoding;
}

/* Elements of a bucket. BUCKET_SIZE, here and below: of max-min quantisation. */
static inline unsigned cgx_encoding_bucket(unsigned encoding, unsigned bucket_size)
{
    return cgx_encoding_is_rotated(encoding) ? CGX_ROTATED_BUCKET : bucket_size;
}

/* Buckets of PIECE. */
static inline size_t cgx_piece_buckets(const struct cgx_piece *piece, unsigned bucket_size)
{
    return cgx_bucket_count(piece->count, cgx_encoding_bucket(piece->bits, bucket_size));
}

/* Elements of bucket INDEX of PIECE. */
static inline size_t cgx_bucket_elements(const struct cgx_piece *piece, unsigned bucket_size,
                                         size_t index)
{
    size_t size = cgx_encoding_bucket(piece->bits, bucket_size), rest = piece->count - index * size;

    return rest < size ? rest : size;
}

/* Bits per element in plane I (format.h) of a piece; 0: no such plane. What is rotated has its
 * codes in the first. */
static inline unsigned cgx_encoding_plane(unsigned encoding, int i)
{
    if (cgx_encoding_is_rotated(encoding))
        return i == 0 ? cgx_encoding_width(encoding) : 0;
    return cgx_plane_width(encoding, i);
}

/* Elements that the codes of a bucket of COUNT elements are padded to. */
static inline size_t cgx_encoding_padded(unsigned encoding, size_t count)
{
    return cgx_encoding_is_rotated(encoding) ? CGX_ROTATED_BUCKET : cgx_codes_padded(count);
}

/* Bytes of COUNT elements, a multiple of BUCKET_SIZE and, if they are rotated, of
 * CGX_ROTATED_BUCKET: with the headers of their buckets, without padding. */
static inline size_t cgx_encoding_bytes(unsigned encoding, unsigned bucket_size,
                                        enum cgx_dtype dtype, size_t count)
{
    if (cgx_encoding_is_exact(encoding))
        return count * cgx_dtype_size(dtype);
    return count / 8 * cgx_encoding_width(encoding) +
           count / cgx_encoding_bucket(encoding, bucket_size) * CGX_BUCKET_HEADER_BYTES;
}

/* The narrowest encoding that ROUNDING has a grid for. */
static inline unsigned cgx_encoding_least(enum cgx_rounding rounding)
{
    return rounding == CGX_ROUNDING_STOCHASTIC ? 2 : 1;
}

/* Steps of u that an encoder takes between the least and the greatest element of a bucket; 0 where
 * there is no grid. */
static inline unsigned cgx_encoding_steps(unsigned encoding, enum cgx_rounding rounding)
{
    if (encoding > CGX_WIDTHS)
        return 0;
    return (1u << encoding) - cgx_encoding_least(rounding);
}

/* ... squared: by this times its energy (bucket.h) pieces are compared at other encodings. */
static inline double cgx_encoding_range(unsigned encoding, enum cgx_rounding rounding)
{
    double steps = cgx_encoding_steps(encoding, rounding);

    return steps * steps;
}

/* The squared error of an element in units of u^2, where elements are spread evenly over a step:
 * 1/12 for the nearest level, 1/6 for one of the two beside it by chance. */
static inline double cgx_encoding_variance(enum cgx_rounding rounding)
{
    return rounding == CGX_ROUNDING_STOCHASTIC ? 1.0 / 6 : 1.0 / 12;
}

#endif
