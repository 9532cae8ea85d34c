/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: the walk over pieces and buckets, and what encoding, decoding and
 * reducing do with one bucket. */
#ifndef CGX_CODEC_HOST_WALK_H
#define CGX_CODEC_HOST_WALK_H

#include "codec/host_kernels.h"

/* What one operation works with: its arguments and the piece that it is at. */
struct cgx_walk {
    const struct cgx_host_kernels *kernels;
    const struct cgx_coding *coding;
    const struct cgx_piece *piece;
    struct cgx_layout layout;
};

/* One bucket of the piece; the places are bytes from the start of the payload area. */
struct cgx_bucket {
    size_t first; /* element of the caller's buffer */
    size_t count;
    size_t header;
    size_t codes[CGX_PLANES];
    size_t constant; /* the first code there is */
};

/* What the header of a bucket says. */
struct cgx_scale {
    enum { CGX_SCALE_GRID, CGX_SCALE_CONSTANT, CGX_SCALE_POISON } kind;
    float u; /* 0 for a constant */
    int32_t z;
    float constant;
};

typedef float cgx_bucket_values[CGX_BUCKET_SIZE_MAX] __attribute__((aligned(64)));

/* What is summed, and the sum of one bucket. */
struct cgx_sum {
    const struct cgx_work *work;
    float scales; /* of the sources so far */
    cgx_bucket_values values;
    cgx_bucket_values addend;
};

/* Asks for the elements of a later bucket, BYTES like the one at ELEMENTS, from memory. What the
 * processor does by itself stops at the end of a page and comes late for what is to be written. */
static inline void cgx_walk_prefetch(const void *elements, size_t bytes)
{
    uintptr_t ahead = (uintptr_t)elements + 8192; /* a quarter of a first-level cache, or less */

    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const void *)(ahead + i));
}

/* Goes to PIECE. */
void cgx_walk_piece(struct cgx_walk *walk, const struct cgx_piece *piece);

/* Whether the piece's elements are not quantised. */
bool cgx_walk_is_exact(const struct cgx_walk *walk);

/* Bucket INDEX of the piece, which is not exact. */
struct cgx_bucket cgx_walk_bucket(const struct cgx_walk *walk, size_t index);

/* Where element INDEX of the caller's buffer is. */
const unsigned char *cgx_walk_element(const struct cgx_walk *walk, const void *buffer,
                                      size_t index);

/* Writes header and codes of a bucket whose elements are VALUES, of that RANGE. */
void cgx_walk_encode(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     struct cgx_host_range range, const cgx_float32 *values,
                     unsigned char *payload);

/* Poisons a bucket: its header says so, and its codes are zeros. */
void cgx_walk_poison(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     unsigned char *payload);

/* Writes zeros between the parts of the piece. */
void cgx_walk_pad(const struct cgx_walk *walk, unsigned char *payload);

/* CGX_ERR_FORMAT if the header is none that an encoder writes. */
enum cgx_status cgx_walk_scale(const struct cgx_bucket *bucket, const unsigned char *payload,
                               struct cgx_scale *scale);

/* Writes the levels of a bucket to VALUES, or adds them if ADD; NaN if it is poisoned. */
void cgx_walk_levels(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     const struct cgx_scale *scale, const unsigned char *payload, bool add,
                     cgx_float32 *values);

/* Where the elements from FIRST of the caller's buffer on are in source P, if that is not
 * quantised: in the buffer or, where it is raw, in the source. NULL if it is a payload. */
const unsigned char *cgx_walk_unquantised(const struct cgx_walk *walk, const struct cgx_sum *sum,
                                          size_t p, size_t first);

/* Adds COUNT unquantised elements; those of the first source are the sum. */
void cgx_walk_add_elements(const struct cgx_walk *walk, const void *elements, size_t count,
                           bool is_first, struct cgx_sum *sum);

/* Sums the sources of a bucket, NaN where one is poisoned. CGX_ERR_FORMAT as cgx_walk_scale. */
enum cgx_status cgx_walk_sum(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                             struct cgx_sum *sum);

#endif
