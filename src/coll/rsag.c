/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The flat algorithm: every rank sends its part of each chunk to the chunk's owner, who sums in
 * rank order, his own elements unquantised, and sends the sum to all (torch_cgx's scatter-reduce
 * and allgather). An element is quantised P - 1 times as input and once as sum. */
#include "coll/slice.h"
#include "coll/tally.h"

size_t cgx_rsag_extra(unsigned ranks, size_t largest)
{
    return (ranks - 1) * largest;
}

/* Where the ith message for this rank's chunk arrives: behind the parts. */
static size_t incoming(const struct cgx_slice *slice, size_t i)
{
    const struct cgx_part *own = &slice->lane->parts[slice->coll->rank];

    return slice->end + i * (CGX_MESSAGE_HEADER_BYTES + own->bytes);
}

void cgx_rsag_start(struct cgx_slice *slice)
{
    const struct cgx_part *own = &slice->lane->parts[slice->coll->rank];

    cgx_slice_encode(slice, 0, own->first_piece, 0, own->message);
}

static enum cgx_status scatter(struct cgx_slice *slice, unsigned step)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *parts = slice->lane->parts;
    unsigned peers = 0;
    enum cgx_status status;

    for (unsigned peer = 0; peer < coll->shape->ranks; peer++) {
        if (peer == coll->rank)
            continue;
        cgx_slice_receive(slice, 2 * peers, peer, incoming(slice, peers), parts[coll->rank].bytes);
        cgx_slice_send(slice, 2 * peers + 1, peer, parts[peer].message, parts[peer].bytes, step);
        peers++;
    }
    status = cgx_slice_exchange(slice, 2 * peers);
    for (size_t i = 0; status == CGX_OK && i < peers; i++)
        cgx_slice_take(slice, 2 * i, step, true);
    return status;
}

/* Sums what came and this rank's elements into its own part. */
static void reduce_own(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_lane *lane = slice->lane;
    const struct cgx_part *own = &lane->parts[coll->rank];
    /* The pieces once more, with offsets from the start of a payload: all sources share them. */
    struct cgx_piece *pieces = lane->pieces + slice->pieces;
    size_t payload = own->message + CGX_MESSAGE_HEADER_BYTES;
    unsigned ranks = coll->shape->ranks;
    size_t arrived = 0;

    for (size_t i = 0; i < own->npieces; i++) {
        pieces[i] = lane->pieces[own->first_piece + i];
        pieces[i].offset -= payload;
    }
    for (unsigned rank = 0; rank < ranks; rank++)
        coll->scratch->sources[rank] =
            rank == coll->rank
                ? NULL
                : lane->staging + incoming(slice, arrived++) + CGX_MESSAGE_HEADER_BYTES;
    cgx_slice_reduce(slice, own, pieces, ranks, incoming(slice, 0),
                     incoming(slice, ranks - 1) - incoming(slice, 0));
}

static enum cgx_status gather(struct cgx_slice *slice, unsigned step)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *parts = slice->lane->parts;
    const struct cgx_part *own = &parts[coll->rank];
    unsigned peers = 0;
    enum cgx_status status;

    for (unsigned peer = 0; peer < coll->shape->ranks; peer++) {
        if (peer == coll->rank)
            continue;
        cgx_slice_receive(slice, 2 * peers, peer, parts[peer].message, parts[peer].bytes);
        cgx_slice_send(slice, 2 * peers + 1, peer, own->message, own->bytes, step);
        peers++;
    }
    status = cgx_slice_exchange(slice, 2 * peers);
    for (size_t i = 0; status == CGX_OK && i < peers; i++)
        cgx_slice_take(slice, 2 * i, step, false);
    return status;
}

enum cgx_status cgx_rsag_slice(struct cgx_slice *slice)
{
    unsigned step = slice->number * CGX_RSAG_STEPS;
    enum cgx_status status;

    cgx_slice_settle(slice);
    for (unsigned owner = 0; owner < slice->coll->shape->ranks; owner++) {
        if (owner != slice->coll->rank)
            cgx_tally_seal(slice, &slice->lane->parts[owner], NULL, 0);
    }
    status = scatter(slice, step);
    if (status != CGX_OK)
        return status;
    reduce_own(slice);
    return gather(slice, step + 1);
}
