/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An encoding is a number that says how the elements of a piece are stored: CGX_BITS_EXACT for
 * unquantised elements, otherwise a width of a family; 1 to 8 is max-min quantisation (quant.h)
 * with as many bits. */
#ifndef CGX_CODEC_ENCODING_H
#define CGX_CODEC_ENCODING_H

#include "codec/codec.h"
#include "codec/uniform/uniform.h"

/* The families of quantisation, for all code outside a family, by enum cgx_family. Operations on
 * buckets are in host_walk.h and in device kernels. */
struct cgx_quantiser {
    const char *kernels; /* the family in kernel names (cuda/kernels.h) */
    unsigned first;      /* encodings are FIRST + width */
    unsigned widths;
    unsigned bucket;  /* elements of a bucket */
    bool has_history; /* elements may be divided by the scales of a history (history.h) */

    /* The size of a piece depends on its elements: the layout gives the maximum, and
     * cgx_uniform_used the size. Such a piece has no bucket headers. */
    bool has_variable_size;
};
extern const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES];

static inline bool cgx_encoding_is_exact(unsigned encoding)
{
    return encoding == CGX_BITS_EXACT;
}

/* The family of ENCODING; the first one for CGX_BITS_EXACT. */
static inline enum cgx_family cgx_encoding_family(unsigned encoding)
{
    int family = CGX_FAMILIES - 1;

    while (family > 0 &&
           encoding - cgx_quantisers[family].first - 1 >= cgx_quantisers[family].widths)
        family--;
    return (enum cgx_family)family;
}

static inline const struct cgx_quantiser *cgx_encoding_quantiser(unsigned encoding)
{
    return &cgx_quantisers[cgx_encoding_family(encoding)];
}

/* The encoding of FAMILY with WIDTH bits per element. */
static inline unsigned cgx_encoding_of(enum cgx_family family, unsigned width)
{
    return cgx_quantisers[family].first + width;
}

/* Bits per element; CGX_BITS_EXACT if it is not quantised. */
static inline unsigned cgx_encoding_width(unsigned encoding)
{
    return encoding - cgx_encoding_quantiser(encoding)->first;
}

/* The layout of COUNT elements in ENCODING. For CGX_BITS_EXACT only bytes is meaningful; for pieces
 * of variable size it is an upper limit. */
struct cgx_layout cgx_piece_layout(size_t count, unsigned encoding, enum cgx_dtype dtype);

/* Bytes of COUNT elements, a multiple of the bucket, with bucket headers and without padding; an
 * upper limit for pieces of variable size. */
static inline size_t cgx_encoding_bytes(unsigned encoding, enum cgx_dtype dtype, size_t count)
{
    if (cgx_encoding_is_exact(encoding))
        return count * cgx_dtype_size(dtype);
    if (cgx_encoding_quantiser(encoding)->has_variable_size)
        return count / CGX_UNIFORM_GROUP * CGX_UNIFORM_GROUP_BYTES;
    return count / 8 * cgx_encoding_width(encoding) +
           count / CGX_MAXMIN_BUCKET * CGX_BUCKET_HEADER_BYTES;
}

/* Whether uniform pieces of WORK can be encoded: there is a step size, and the result of a sum
 * overwrites none of its sources. */
static inline bool cgx_work_may_begin(const struct cgx_work *work)
{
    const float step = work->coding->step_size, error = work->coding->error;
    bool may = step == 0 ? error > 0 && error < INFINITY : cgx_uniform_is_step(step);

    for (size_t p = 0; work->operation == CGX_REDUCE && p < work->nsources; p++)
        may = may && work->sources[p] != work->out;
    return may;
}

#endif
