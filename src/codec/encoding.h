/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How the elements of a piece are stored, by a number: 1 to 8 is max-min quantisation (quant.h) at
 * as many bits, CGX_BITS_EXACT the elements as they are. What an encoding takes, and how far its
 * elements are from what they stand for. */
#ifndef CGX_CODEC_ENCODING_H
#define CGX_CODEC_ENCODING_H

#include "codec/format.h"

static inline bool cgx_encoding_is_exact(unsigned encoding)
{
    return encoding == CGX_BITS_EXACT;
}

/* Bytes of a whole bucket, its header included. */
static inline size_t cgx_encoding_bucket_bytes(unsigned encoding, unsigned bucket_size,
                                               enum cgx_dtype dtype)
{
    if (cgx_encoding_is_exact(encoding))
        return bucket_size * cgx_dtype_size(dtype);
    return bucket_size * encoding / 8 + CGX_BUCKET_HEADER_BYTES;
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
