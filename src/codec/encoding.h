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

/* That encodings can be of. */
#define CGX_FAMILIES CGX_FAMILY_AUTO

static inline enum cgx_family cgx_encoding_family(unsigned encoding)
{
    return cgx_encoding_is_rotated(encoding) ? CGX_FAMILY_ROTATED : CGX_FAMILY_MAXMIN;
}

/* WIDTH bits to an element in FAMILY, which has them. */
static inline unsigned cgx_encoding_of(enum cgx_family family, unsigned width)
{
    return family == CGX_FAMILY_ROTATED ? CGX_ROTATED + width : width;
}

/* Whether an element is known to within a bound of its own, by which sums beyond the type are told
 * (bucket.h): with max-min quantisation. */
static inline bool cgx_encoding_has_bounds(unsigned encoding)
{
    return encoding <= CGX_WIDTHS;
}

/* ---- max-min quantisation ---- */

/* The narrowest that ROUNDING has a grid for. */
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

/* The squared error of an element in units of the square of a step, over which elements are spread
 * evenly: 1/12 for the nearest level, 1/6 for one of the two beside it by chance. */
static inline double cgx_rounding_variance(enum cgx_rounding rounding)
{
    return rounding == CGX_ROUNDING_STOCHASTIC ? 1.0 / 6 : 1.0 / 12;
}

/* ---- rotated quantisation, which rounds to the nearest ---- */

static inline enum cgx_rounding cgx_encoding_rounding(unsigned encoding, enum cgx_rounding rounding)
{
    return cgx_encoding_is_rotated(encoding) ? CGX_ROUNDING_NEAREST : rounding;
}

/* Of normal elements with the thresholds and levels of rotated.h, by width: */
struct cgx_rotated_normal {
    double error; /* squared, relative to the elements, where the step makes it least */
    double rms;   /* of the elements in steps, then */
};

static inline struct cgx_rotated_normal cgx_rotated_normal(unsigned width)
{
    static const struct cgx_rotated_normal normals[CGX_ROTATED_WIDTHS] = {{0.363380, 208.050},
                                                                          {0.117482, 163.587},
                                                                          {0.034581, 99.6563},
                                                                          {0.0095385, 92.6460},
                                                                          {0.00251521, 8066.54}};

    return normals[width - 1];
}

/* The squared error, relative to the elements, of a quantisation that is unbiased. */
static inline double cgx_rotated_error(unsigned width)
{
    double error = cgx_rotated_normal(width).error;

    return error / (1 - error);
}

/* ---- energy and error ---- */

/* By this times its energy (bucket.h) a piece is compared in other encodings of its family: of
 * max-min quantisation the square of the steps from the least to the greatest element, of rotated
 * quantisation the mean square of the elements in steps, rotated ones being 32 times as large. */
static inline double cgx_encoding_range(unsigned encoding, enum cgx_rounding rounding)
{
    double steps = cgx_encoding_steps(encoding, rounding);

    if (cgx_encoding_is_rotated(encoding)) {
        struct cgx_rotated_normal normal = cgx_rotated_normal(cgx_encoding_width(encoding));

        steps = 32 * normal.rms * (1 - normal.error);
    }
    return steps * steps;
}

/* The squared error of an element in units of u^2. */
static inline double cgx_encoding_variance(unsigned encoding, enum cgx_rounding rounding)
{
    if (cgx_encoding_is_rotated(encoding))
        return cgx_encoding_range(encoding, rounding) *
               cgx_rotated_error(cgx_encoding_width(encoding));
    return cgx_rounding_variance(rounding);
}

#endif
