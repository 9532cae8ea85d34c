/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which buckets of a part are looked at (watch.h): one in 256 of those that tell anything, after 16
 * calls others, the same on all ranks. */
#ifndef CGX_COLL_TRAILER_WATCH_SAMPLE_H
#define CGX_COLL_TRAILER_WATCH_SAMPLE_H

#include "coll/slice.h"

/* With fewer bits nothing can be told: most elements are on the level zero. */
#define CGX_WATCH_LEAST_BITS 3

/* So many buckets are looked at in all parts together and, in each part that has them, so many
 * elements, if that is more. */
#define CGX_WATCH_MOST 256
#define CGX_WATCH_LEAST 512

/* Buckets of PIECE that tell anything: all of them, or none. */
size_t cgx_watch_buckets(const struct cgx_slice *slice, const struct cgx_piece *piece);

/* The samples of a part, one after the other. */
struct cgx_watch_samples {
    const struct cgx_slice *slice;
    const struct cgx_block *part;
    size_t buckets, count; /* of the part, and of samples */
    size_t number;         /* samples before */
    size_t piece, before;  /* in which the last one was, and buckets of the pieces before */
};

struct cgx_watch_samples cgx_watch_samples_in(const struct cgx_slice *slice,
                                              const struct cgx_block *part);

/* COUNT others, or all buckets if there are fewer. */
struct cgx_watch_samples cgx_watch_samples_of(const struct cgx_slice *slice,
                                              const struct cgx_block *part, size_t count);

/* Which samples are taken: the same number stands for the same ones of a part. Sums are compared
 * with those before, so that it is another only once in a while. */
uint32_t cgx_watch_places(const struct cgx_slice *slice);

/* The next one is bucket *INDEX of the piece that is returned; NULL: there are no more. */
const struct cgx_piece *cgx_watch_next(struct cgx_watch_samples *samples, size_t *index);

#endif
