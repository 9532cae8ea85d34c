/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/trailer/watch_sample.h"

#include "codec/encoding.h"
#include "util/hash.h"
#include "util/integers.h"

#define GROUP 256 /* one bucket of so many is looked at */
#define CALLS 16  /* that have the same samples */

size_t cgx_watch_buckets(const struct cgx_slice *slice, const struct cgx_piece *piece)
{
    return cgx_encoding_is_exact(piece->bits) ||
                   cgx_encoding_width(piece->bits) < CGX_WATCH_LEAST_BITS
               ? 0
               : cgx_piece_buckets(piece, slice->coding.bucket_size);
}

/* Of so many BUCKETS. */
static size_t samples_of(const struct cgx_slice *slice, size_t buckets)
{
    size_t most = CGX_WATCH_MOST / cgx_schedule_chunks(slice->coll->schedule);
    size_t least = cgx_divide_up(CGX_WATCH_LEAST, slice->coding.bucket_size);

    return cgx_smaller(cgx_larger(cgx_smaller(buckets / GROUP, most), least), buckets);
}

struct cgx_watch_samples cgx_watch_samples_in(const struct cgx_slice *slice,
                                              const struct cgx_block *part)
{
    struct cgx_watch_samples samples = {.slice = slice, .part = part};

    for (size_t i = 0; i < part->npieces; i++)
        samples.buckets += cgx_watch_buckets(slice, &cgx_slice_pieces(slice, part)[i]);
    samples.count = samples_of(slice, samples.buckets);
    return samples;
}

struct cgx_watch_samples cgx_watch_samples_of(const struct cgx_slice *slice,
                                              const struct cgx_block *part, size_t count)
{
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);

    samples.count = cgx_smaller(count, samples.buckets);
    return samples;
}

uint32_t cgx_watch_places(const struct cgx_slice *slice)
{
    return slice->coll->watching.number / CALLS;
}

/* The bucket of the part that is looked at next: somewhere in the sample's share of them, so that
 * rows of a matrix do not alias. */
static size_t place_of(const struct cgx_watch_samples *samples)
{
    const uint64_t words[] = {samples->part->first_bucket, samples->number,
                              cgx_watch_places(samples->slice)};
    size_t first = samples->number * samples->buckets / samples->count;
    size_t end = (samples->number + 1) * samples->buckets / samples->count;

    return first + cgx_hash(CGX_HASH_START, words, sizeof words) % (end - first);
}

const struct cgx_piece *cgx_watch_next(struct cgx_watch_samples *samples, size_t *index)
{
    const struct cgx_slice *slice = samples->slice;
    const struct cgx_piece *pieces = cgx_slice_pieces(slice, samples->part);
    size_t place;

    if (samples->number == samples->count)
        return NULL;
    place = place_of(samples);
    while (place >= samples->before + cgx_watch_buckets(slice, &pieces[samples->piece]))
        samples->before += cgx_watch_buckets(slice, &pieces[samples->piece++]);
    samples->number++;
    *index = place - samples->before;
    return &pieces[samples->piece];
}
