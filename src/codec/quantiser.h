/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The table of quantisation families, for all code outside a family. Operations on buckets are in
 * host_walk.h and in device kernels. */
#ifndef CGX_CODEC_QUANTISER_H
#define CGX_CODEC_QUANTISER_H

#include "codec/format.h"

struct cgx_quantiser {
    const char *mark;    /* prefix of a width in text */
    const char *kernels; /* its name in kernel names (cuda/kernels.h) */
    unsigned first;      /* encodings are FIRST + width */
    unsigned widths;     /* widths are 1 to WIDTHS bits */
    unsigned bucket;     /* elements of a bucket; 0: the configured size */

    /* The size of a piece depends on its elements; its layout gives the maximum, and cgx_piece_used
     * the size. It has no bucket headers. */
    bool has_variable_size;
};

/* By enum cgx_family. */
extern const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES];

/* ---- max-min quantisation ---- */

/* The number of steps u from the least to the greatest element of a bucket; 0 if there is no
 * grid. */
static inline unsigned cgx_encoding_steps(unsigned encoding)
{
    return encoding > CGX_WIDTHS ? 0 : (1u << encoding) - 1;
}

#endif
