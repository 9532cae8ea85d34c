/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: where the buckets of a piece are in memory. */
#ifndef CGX_CODEC_HOST_WALK_H
#define CGX_CODEC_HOST_WALK_H

#include "codec/host_kernels.h"
#include "util/float_state.h"

/* A walk over the pieces of a payload, at one of them. */
struct cgx_walk {
    const struct cgx_host_kernels *kernels;
    const struct cgx_coding *coding;
    const struct cgx_piece *piece;
    struct cgx_layout layout;
    size_t size;                /* elements of a bucket */
    unsigned plane[CGX_PLANES]; /* bits per element, of max-min quantisation */
    uint32_t key;               /* the key of the call (cgx_call_key) */
    float *values, *addend;     /* space for the elements of one bucket each */
    /* While a uniform piece is encoded: space for CGX_UNIFORM_SUMS sums, and for the mean square of
     * the errors that its values already have. */
    double *sums, *noise;
    union cgx_float_state *caller;
    size_t passed;
};

/* One bucket of the piece; offsets are in bytes from the start of the payload area. */
struct cgx_bucket {
    size_t first; /* number of the first element in the caller's buffer */
    size_t count;
    size_t header;
    size_t codes[CGX_PLANES];
    size_t constant; /* the first bit plane that the width has */
};

/* Carries out WORK for one bucket of the piece. */
typedef enum cgx_status cgx_bucket_operation(const struct cgx_walk *walk,
                                             const struct cgx_work *work,
                                             const struct cgx_bucket *bucket);

/* Returns bucket INDEX of the piece, which is not exact. */
static inline struct cgx_bucket cgx_walk_bucket(const struct cgx_walk *walk, size_t index)
{
    const struct cgx_piece *piece = walk->piece;
    size_t start = index * walk->size;
    struct cgx_bucket bucket;

    bucket.first = piece->first + start;
    bucket.count = piece->count - start < walk->size ? piece->count - start : walk->size;
    bucket.header = piece->offset + index * CGX_BUCKET_HEADER_BYTES;
    for (int i = 0; i < CGX_PLANES; i++)
        bucket.codes[i] = piece->offset + walk->layout.plane[i] + start / 8 * walk->plane[i];
    bucket.constant = bucket.codes[piece->bits >= 4 ? 0 : piece->bits >= 2 ? 1 : 2];
    return bucket;
}

/* The address of element INDEX of the caller's buffer. */
static inline const unsigned char *cgx_walk_element(const struct cgx_walk *walk, const void *buffer,
                                                    size_t index)
{
    return (const unsigned char *)buffer + index * cgx_dtype_size(walk->coding->dtype);
}

/* Prefetches BYTES of a later bucket, for the bucket at ELEMENTS. Hardware prefetching stops at
 * page boundaries and is late for writes. */
static inline void cgx_walk_prefetch(const void *elements, size_t bytes)
{
    uintptr_t ahead = (uintptr_t)elements + 8192; /* a quarter of a first-level cache, or less */

    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const void *)(ahead + i));
}

/* The caller's elements from FIRST on if source P of WORK stands for them, or NULL if that source
 * is a payload. */
static inline const unsigned char *cgx_walk_unquantised(const struct cgx_walk *walk,
                                                        const struct cgx_work *work, size_t p,
                                                        size_t first)
{
    return work->sources[p] ? NULL : cgx_walk_element(walk, work->in, first);
}

/* Adds COUNT unquantised elements to the walk's values, or sets them if IS_FIRST. */
static inline void cgx_walk_add(const struct cgx_walk *walk, const void *elements, size_t count,
                                bool is_first)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    enum cgx_dtype dtype = walk->coding->dtype;

    if (is_first) {
        kernels->widen[dtype](elements, count, walk->values);
    } else if (dtype == CGX_FLOAT32) {
        kernels->add(elements, count, walk->values);
    } else {
        kernels->widen[dtype](elements, count, walk->addend);
        kernels->add(walk->addend, count, walk->values);
    }
}

/* ---- the operations of each family, by enum cgx_operation ---- */

extern cgx_bucket_operation *const cgx_host_maxmin[CGX_OPERATIONS];
extern cgx_bucket_operation *const cgx_host_uniform[CGX_OPERATIONS];

#endif
