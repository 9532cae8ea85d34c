/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The table of quantisation families. Code that is not a family's own asks its entry here. The
 * operations on buckets are in host_walk.h and in the kernels of devices. */
#ifndef CGX_CODEC_QUANTISER_H
#define CGX_CODEC_QUANTISER_H

#include "codec/format.h"

#define CGX_FAMILIES CGX_FAMILY_AUTO

struct cgx_quantiser {
    const char *mark;    /* before a width, where widths are written */
    const char *kernels; /* the same in the names of kernels (cuda/kernels.h) */
    unsigned first;      /* encodings are FIRST + width */
    unsigned widths;     /* widths are 1 to WIDTHS bits */
    unsigned encodings;  /* that and what stands in the place of a width (uniform/uniform.h) */
    unsigned bucket;     /* elements of a bucket; 0: the bucket size that is set */

    /* Codes lie bucket by bucket, each as if the bucket were complete; BUCKET is not 0. Else they
     * lie in bit planes (format.h). */
    bool whole;

    /* A piece has as many bytes as its elements take, at most those of its layout, and says how
     * many (cgx_piece_used). It has no bucket headers. */
    bool varies;

    /* An element is within a step of its level, half a step where rounding is to the nearest, and a
     * header says what levels there are. Else the elements of a bucket have a bound together. */
    bool has_bounds;

    /* A zero is decoded as zero. Else zeros stay only in buckets of zeros, whose header is 0. */
    bool keeps_zeros;

    bool rounds_by_chance; /* where that is set; else rounding is to the nearest */

    /* The least width that has residuals (codec.h), if rounding is to the nearest; above WIDTHS:
     * none. */
    unsigned residual_bits;

    /* A piece's energy (bucket.h) times this is the same at all widths. */
    double (*range)(unsigned width, enum cgx_rounding rounding);

    /* The squared error, relative to the elements. NULL: it depends on the elements. */
    double (*error)(unsigned width);

    /* CGX_FAMILY_AUTO may choose it. */
    bool is_choice;

    /* The family's pieces are measured (measure.h). */
    bool is_measured;
};

/* By enum cgx_family. */
extern const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES];

/* Whether pieces of FAMILY, which may be CGX_FAMILY_AUTO, vary: it has one step for all elements,
 * and no widths to choose. */
static inline bool cgx_family_varies(enum cgx_family family)
{
    return family != CGX_FAMILY_AUTO && cgx_quantisers[family].varies;
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

#endif
