/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The flat algorithm: every rank sends its part of each chunk to the chunk's owner, who sums in
 * rank order, his own elements unquantised, and sends the sum to all (torch_cgx's scatter-reduce
 * and allgather). An element is quantised P - 1 times as input and once as sum. */
#include "coll/slice.h"

size_t cgx_rsag_extra(unsigned ranks, size_t largest)
{
    return (ranks - 1) * largest;
}

/* Where the ith message for this rank's chunk arrives: behind the parts. */
static size_t incoming(const struct cgx_slice *slice, size_t i)
{
    const struct cgx_part *own = &slice->coll->scratch->parts[slice->coll->rank];

    return slice->end + i * (CGX_MESSAGE_HEADER_BYTES + own->bytes);
}

static void encode_foreign(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_scratch *scratch = coll->scratch;
    size_t foreign = scratch->parts[coll->rank].first_piece;

    if (!slice->withheld && coll->codec->encode(&slice->coding, scratch->pieces, foreign,
                                                coll->input, scratch->staging) != CGX_OK)
        slice->withheld = true;
}

static enum cgx_status scatter(struct cgx_slice *slice, unsigned step)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *parts = coll->scratch->parts;
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
    for (size_t i = 0; status == CGX_OK && i < peers; i++) {
        if (cgx_slice_arrival(slice, 2 * i, step) != CGX_ARRIVAL_PAYLOAD)
            slice->withheld = true;
    }
    return status;
}

/* Sums what came and this rank's elements into its own part. */
static void reduce_own(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_scratch *scratch = coll->scratch;
    const struct cgx_part *own = &scratch->parts[coll->rank];
    /* The pieces once more, with offsets from the start of a payload: all sources share them. */
    struct cgx_piece *pieces = scratch->pieces + slice->pieces;
    size_t payload = own->message + CGX_MESSAGE_HEADER_BYTES;
    size_t arrived = 0;

    if (slice->withheld)
        return;
    for (size_t i = 0; i < own->npieces; i++) {
        pieces[i] = scratch->pieces[own->first_piece + i];
        pieces[i].offset -= payload;
    }
    for (unsigned rank = 0; rank < coll->shape->ranks; rank++)
        scratch->sources[rank] =
            rank == coll->rank
                ? NULL
                : scratch->staging + incoming(slice, arrived++) + CGX_MESSAGE_HEADER_BYTES;
    if (coll->codec->reduce(&slice->coding, pieces, own->npieces, scratch->sources,
                            coll->shape->ranks, coll->input, scratch->staging + payload) != CGX_OK)
        slice->withheld = true;
}

static enum cgx_status gather(struct cgx_slice *slice, unsigned step)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *parts = coll->scratch->parts;
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
    for (size_t i = 0; status == CGX_OK && i < peers; i++) {
        enum cgx_arrival arrival = cgx_slice_arrival(slice, 2 * i, step);

        slice->withheld |= arrival == CGX_ARRIVAL_WITHHELD;
        slice->failed |= arrival == CGX_ARRIVAL_FAILED;
    }
    return status;
}

enum cgx_status cgx_rsag_slice(struct cgx_slice *slice)
{
    unsigned step = slice->number * CGX_RSAG_STEPS;
    enum cgx_status status;

    encode_foreign(slice);
    status = scatter(slice, step);
    if (status != CGX_OK)
        return status;
    reduce_own(slice);
    return gather(slice, step + 1);
}
