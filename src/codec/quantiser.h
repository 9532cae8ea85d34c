/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The table of quantisation families, for all code outside a family. Operations on buckets are in
 * host_walk.h and in device kernels. */
#ifndef CGX_CODEC_QUANTISER_H
#define CGX_CODEC_QUANTISER_H

#include "codec/format.h"

struct cgx_quantiser {
    const char *mark;    /* prefix of a width in text, as in u4 */
    const char *kernels; /* the family in kernel names (cuda/kernels.h) */
    unsigned first;      /* encodings are FIRST + width */
    unsigned widths;
    unsigned bucket;  /* elements of a bucket */
    bool has_history; /* elements may be divided by the scales of a history (history.h) */

    /* The size of a piece depends on its elements: the layout gives the maximum, and cgx_piece_used
     * the size. Such a piece has no bucket headers. */
    bool has_variable_size;
};

/* By enum cgx_family. */
extern const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES];

#endif
