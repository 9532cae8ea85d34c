/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/trailer/watch.h"

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "util/hash.h"
#include "util/integers.h"

#define GROUP 256 /* one in this many buckets is sampled */
#define CALLS 16  /* consecutive calls with the same samples */

/* The most buckets that are tried to find one that is not empty. */
#define MOST_TRIED 256

static bool is_intra_node(const struct cgx_slice *slice)
{
    return slice->coll->schedule->nodes->nodes == 1;
}

static const struct cgx_stage *watched_stage(const struct cgx_slice *slice)
{
    return &slice->stages[is_intra_node(slice) ? CGX_LEVEL_NODE : CGX_LEVEL_ROW];
}

/* ---- members ---- */

/* The number of ranks of COUNT members from FIRST on. */
static unsigned ranks_of(const struct cgx_slice *slice, unsigned first, unsigned count)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;

    return is_intra_node(slice) ? count : nodes->first[first + count] - nodes->first[first];
}

struct cgx_watch_members cgx_watch_members_of(const struct cgx_slice *slice)
{
    const struct cgx_stage *stage = watched_stage(slice);
    unsigned first = cgx_node_grid_first(&slice->coll->schedule->grid, slice->row);

    return (struct cgx_watch_members){.count = stage->size,
                                      .self = stage->self,
                                      .first = first,
                                      .ranks = ranks_of(slice, first, stage->size)};
}

unsigned cgx_watch_ranks_of(const struct cgx_slice *slice, const struct cgx_watch_members *members,
                            unsigned member)
{
    return ranks_of(slice, members->first + member, 1);
}

/* FROM has a payload of each other member, in order, and any number of payloads at this rank's
 * place. */
const unsigned char *cgx_watch_payload_of(const struct cgx_payloads *from,
                                          const struct cgx_watch_members *members, unsigned member)
{
    return member < members->self ? from->at[member]
                                  : from->at[from->count - (members->count - member)];
}

/* ---- sampled sums ---- */

/* In a grid, the row that samples its own sums of the parts that row OWNER owns. */
static unsigned sampling_row(const struct cgx_node_grid *grid, unsigned owner)
{
    return (owner + 1) % grid->rows;
}

bool cgx_watch_is_sampled(const struct cgx_slice *slice, const struct cgx_block *part, bool last)
{
    const struct cgx_node_grid *grid = &slice->coll->schedule->grid;
    unsigned owner = (unsigned)(part - slice->parts) % grid->rows;

    if (grid->rows == 1)
        return last;
    return slice->phase == CGX_PHASE_REDUCE_SCATTER_COLUMN &&
           slice->row == sampling_row(grid, owner);
}

const unsigned char *cgx_watch_seen_before(const struct cgx_slice *slice,
                                           const struct cgx_payloads *from, bool last)
{
    const struct cgx_node_grid *grid = &slice->coll->schedule->grid;
    const struct cgx_watch_members rows = {.count = grid->rows, .self = slice->row};

    if (last && grid->rows > 1)
        return cgx_watch_payload_of(from, &rows, sampling_row(grid, slice->row));
    return NULL;
}

/* ---- sampled buckets ---- */

size_t cgx_watch_buckets(const struct cgx_slice *slice, const struct cgx_piece *piece)
{
    return cgx_encoding_is_exact(piece->bits) ||
                   cgx_encoding_width(piece->bits) < CGX_INSPECT_LEAST_BITS
               ? 0
               : cgx_piece_buckets(piece, slice->coding.bucket_size);
}

/* The number of samples in a part of BUCKETS. */
static size_t samples_of(const struct cgx_slice *slice, size_t buckets)
{
    size_t most = CGX_WATCH_MOST / cgx_schedule_chunks(slice->coll->schedule);

    return cgx_smaller(cgx_larger(cgx_smaller(buckets / GROUP, most), CGX_WATCH_LEAST), buckets);
}

struct cgx_watch_samples cgx_watch_samples_in(const struct cgx_slice *slice,
                                              const struct cgx_block *part)
{
    struct cgx_watch_samples samples = {
        .slice = slice, .part = part, .filled = slice->pull == CGX_PULL_NONE};

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
    samples.filled = false;
    return samples;
}

uint32_t cgx_watch_places(const struct cgx_slice *slice)
{
    return slice->coll->watching.number / CALLS;
}

/* Returns the piece with bucket PLACE of the part; SAMPLES keeps it, and the number of buckets
 * before it. */
static const struct cgx_piece *find(struct cgx_watch_samples *samples, size_t place)
{
    const struct cgx_piece *pieces = cgx_slice_pieces(samples->slice, samples->part);

    if (place < samples->before)
        samples->piece = samples->before = 0;
    while (place >= samples->before + cgx_watch_buckets(samples->slice, &pieces[samples->piece]))
        samples->before += cgx_watch_buckets(samples->slice, &pieces[samples->piece++]);
    return &pieces[samples->piece];
}

static bool is_empty(struct cgx_watch_samples *samples, size_t place)
{
    const struct cgx_piece *piece = find(samples, place);

    return cgx_bucket_scale(piece, samples->slice->slot->staging + piece->offset,
                            place - samples->before) == 0;
}

/* The bucket of the part that is sampled next: a hashed place in the sample's share of the buckets,
 * so that rows of a matrix do not alias. */
static size_t place_of(struct cgx_watch_samples *samples)
{
    const uint64_t words[] = {samples->part->first_bucket, samples->number,
                              cgx_watch_places(samples->slice)};
    size_t first = samples->number * samples->buckets / samples->count;
    size_t share = (samples->number + 1) * samples->buckets / samples->count - first;
    size_t place = cgx_hash(CGX_HASH_START, words, sizeof words) % share;
    size_t most = samples->filled ? cgx_smaller(share, MOST_TRIED) : 1;

    for (size_t tried = 0; tried < most; tried++) {
        size_t neighbour = first + (place + tried) % share;

        if (most == 1 || !is_empty(samples, neighbour))
            return neighbour;
    }
    return first + place;
}

const struct cgx_piece *cgx_watch_next(struct cgx_watch_samples *samples, size_t *index)
{
    const struct cgx_piece *piece;
    size_t place;

    if (samples->number == samples->count)
        return NULL;
    place = place_of(samples);
    piece = find(samples, place);
    samples->number++;
    *index = place - samples->before;
    return piece;
}
