/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The families of quantisation, as a table: whatever is not a family's own work asks its entry. */
#ifndef CGX_CODEC_QUANTISER_H
#define CGX_CODEC_QUANTISER_H

#include "codec/codec.h"

#define CGX_FAMILIES CGX_FAMILY_AUTO

struct cgx_walk;
struct cgx_bucket;

/* Carries out WORK for one bucket of a piece (host_walk.h). */
typedef enum cgx_status cgx_bucket_operation(const struct cgx_walk *walk,
                                             const struct cgx_work *work,
                                             const struct cgx_bucket *bucket);

struct cgx_quantiser {
    const char *mark;    /* before a width, where widths are written */
    const char *kernels; /* the same in the names of kernels (cuda/kernels.h) */
    unsigned first;      /* encodings are FIRST + width */
    unsigned widths;     /* widths are 1 to WIDTHS bits */
    unsigned bucket;     /* elements of a bucket; 0: the bucket size that is set */

    /* Codes lie bucket by bucket, each as if the bucket were complete; BUCKET is not 0. Else they
     * lie in bit planes (format.h). */
    bool whole;

    /* An element is within a step of its level, half a step where rounding is to the nearest, and a
     * header says what levels there are. Else the elements of a bucket have a bound together. */
    bool has_bounds;

    /* A zero is decoded as zero. Else zeros stay only in buckets of zeros, whose header is 0. */
    bool keeps_zeros;

    bool rounds_by_chance; /* where that is set; else rounding is to the nearest */

    /* What is kept from call to call (codec.h), where rounding is to the nearest. */
    unsigned residual_bits; /* the least width that has residuals; above WIDTHS: none */
    bool has_history;

    /* A piece's energy (bucket.h) times this is the same at all widths. */
    double (*range)(unsigned width, enum cgx_rounding rounding);

    /* The squared error, relative to the elements. NULL: it depends on the elements. */
    double (*error)(unsigned width);

    /* On the host, by enum cgx_operation. NULL: such pieces are passed over. */
    cgx_bucket_operation *operations[CGX_MEASURE + 1];

    /* Decodes a bucket as cgx_peek_bucket does. */
    enum cgx_status (*peek)(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                            const unsigned char *payload, float *values, float *scale);
};

/* By enum cgx_family; each is defined where its operations are. */
extern const struct cgx_quantiser *const cgx_quantisers[CGX_FAMILIES];

#endif
