/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include "coll/split.h"
#include "util/log.h"

/* The part of CHUNK is laid where the slice ends so far. */
static void lay_part(struct cgx_slice *slice, unsigned chunk)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    struct cgx_slot *slot = slice->slot;
    struct cgx_range range = cgx_split_part(schedule->plan, cgx_schedule_chunks(schedule), chunk,
                                            schedule->slices, slice->number);
    size_t payload = slice->end + CGX_MESSAGE_HEADER_BYTES;
    struct cgx_block *part = &slot->blocks[chunk];

    part->message = slice->end;
    part->first_piece = slice->pieces;
    part->first_bucket = range.first;
    part->npieces = cgx_split_pieces(schedule->plan, range, payload, slot->pieces + slice->pieces,
                                     &part->energies);
    part->bounds = part->energies + cgx_split_energies(schedule->plan, part->npieces);
    part->watched = part->bounds + (schedule->bounded ? cgx_split_bounds(range) : 0);
    slice->end = part->watched;
    if (schedule->watched && slice->number == 0 && part->npieces > 0)
        slice->end += CGX_WATCHED_BYTES;
    part->bytes = slice->end - payload;
    slice->pieces += part->npieces;
}

/* All ranks of a node lay a shard out alike. */
static void lay_shard(struct cgx_slice *slice, unsigned shard)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    unsigned nodes = schedule->nodes->nodes;
    struct cgx_block *whole = &slice->slot->blocks[cgx_schedule_chunks(schedule) + shard];

    *whole = (struct cgx_block){.message = slice->end, .first_piece = slice->pieces};
    for (unsigned node = 0; node < nodes; node++) {
        if (node != slice->node)
            lay_part(slice, shard * nodes + node);
    }
    lay_part(slice, shard * nodes + slice->node);
    whole->npieces = slice->pieces - whole->first_piece;
    whole->bytes = slice->end - whole->message - CGX_MESSAGE_HEADER_BYTES;
}

/* The most bytes of a message with one of UNITS. */
static size_t longest(const struct cgx_block *blocks, size_t count)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++)
        most = blocks[i].bytes > most ? blocks[i].bytes : most;
    return CGX_MESSAGE_HEADER_BYTES + most;
}

/* From offset AT on. */
static void lay_incoming(struct cgx_slice *slice, size_t at)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    const struct cgx_nodes *nodes = schedule->nodes;
    size_t members = nodes->first[slice->node + 1] - nodes->first[slice->node];

    slice->inner_incoming = slice->cross_incoming = slice->samples = at;
    /* In a ring parts of other blocks arrive too. */
    if (slice->owns || schedule->inner == CGX_REDUCTION_RING)
        slice->cross_incoming +=
            cgx_schedule_kept(schedule->inner, members) *
            longest(schedule->raw ? slice->raw_shards : slice->shards, schedule->shards);
    slice->samples = slice->cross_incoming;
    if (slice->owns)
        slice->samples += cgx_schedule_kept(schedule->cross, nodes->nodes) *
                          longest(slice->parts + (size_t)slice->local * nodes->nodes, nodes->nodes);
}

void cgx_slice_begin(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = coll->schedule;
    const struct cgx_plan *plan = schedule->plan;
    struct cgx_slot *slot = &coll->scratch->slots[number % CGX_SLOTS];
    unsigned node = schedule->nodes->node[coll->rank];
    unsigned members = schedule->nodes->first[node + 1] - schedule->nodes->first[node];

    *slice = (struct cgx_slice){
        .coll = coll,
        .node = node,
        .local = schedule->nodes->local[coll->rank],
        .owns = schedule->nodes->local[coll->rank]<
                    schedule->shards, .slot_number = number % CGX_SLOTS, .slot = slot,
                    .parts = slot->blocks, .shards = slot->blocks + cgx_schedule_chunks(schedule),
                    .raw_shards = slot->blocks + cgx_schedule_chunks(schedule) + schedule->shards,
                    .coding = {.dtype = plan->dtype,
                               .bucket_size = plan->bucket_size,
                               .rounding = plan->rounding,
                               .seed = coll->seed,
                               .call = coll->call,
                               .stream = coll->rank,
                               .sampling = coll->feedback ? coll->feedback->sampling
                                                          : (struct cgx_sampling){0}},
                    .number = number, .pull = members> 1
                    ? coll->pull
                    : CGX_PULL_NONE,
        .standing = coll->standing};
    for (unsigned shard = 0; shard < schedule->shards; shard++) {
        if (shard != slice->local)
            lay_shard(slice, shard);
    }
    if (slice->owns)
        lay_shard(slice, slice->local);
    lay_incoming(slice, schedule->raw ? cgx_slice_lay_raw(slice) : slice->end);
}

/* ---- messages ---- */

static uint8_t flags_of(const struct cgx_slice *slice)
{
    bool unrecoverable = slice->standing == CGX_UNRECOVERABLE;

    return (uint8_t)((slice->standing != CGX_ABLE ? CGX_MESSAGE_DECLINED : 0) |
                     (slice->lost ? CGX_MESSAGE_LOST : 0) |
                     (unrecoverable ? CGX_MESSAGE_UNRECOVERABLE : 0) |
                     (slice->consensus ? CGX_MESSAGE_CONSENSUS : 0));
}

void cgx_slice_send(struct cgx_slice *slice, size_t index, unsigned peer,
                    const struct cgx_block *block, unsigned seq)
{
    unsigned char *data = slice->slot->staging + block->message;
    bool present = slice->standing == CGX_ABLE && !slice->lost;
    const struct cgx_message header = {.flags = flags_of(slice),
                                       .seq = (uint16_t)seq,
                                       .plan = slice->coll->schedule->hash,
                                       .bytes = present ? block->bytes : 0};
    struct cgx_transfer *transfer = &slice->coll->scratch->transfers[index];

    cgx_message_write(&header, data);
    transfer->direction = CGX_TRANSFER_SEND;
    transfer->peer = (int)peer;
    transfer->data = data;
    transfer->bytes = CGX_MESSAGE_HEADER_BYTES + block->bytes;
    transfer->filled = CGX_MESSAGE_HEADER_BYTES + header.bytes;
    slice->sent += transfer->filled;
}

void cgx_slice_receive(struct cgx_slice *slice, size_t index, unsigned peer,
                       const struct cgx_block *block, size_t at)
{
    struct cgx_transfer *transfer = &slice->coll->scratch->transfers[index];

    transfer->direction = CGX_TRANSFER_RECEIVE;
    transfer->block = block;
    transfer->peer = (int)peer;
    transfer->data = slice->slot->staging + at;
    transfer->bytes = CGX_MESSAGE_HEADER_BYTES + block->bytes;
}

/* True if HEADER and length are those of message SEQ, with its payload or flagged. */
static bool is_expected(const struct cgx_slice *slice, const struct cgx_transfer *transfer,
                        unsigned seq, struct cgx_message *header)
{
    size_t payload = transfer->filled - CGX_MESSAGE_HEADER_BYTES;

    if (transfer->filled < CGX_MESSAGE_HEADER_BYTES ||
        cgx_message_read(transfer->data, header) != CGX_OK || header->seq != (uint16_t)seq ||
        header->plan != slice->coll->schedule->hash)
        return false;
    return header->flags != 0 || (transfer->filled == transfer->bytes && header->bytes == payload);
}

static void take(struct cgx_slice *slice, const struct cgx_transfer *transfer, unsigned seq,
                 bool early)
{
    struct cgx_message header = {0};
    bool expected = is_expected(slice, transfer, seq, &header);
    bool fails = !expected || (header.flags & CGX_MESSAGE_LOST) != 0;

    if (!expected)
        cgx_log(CGX_LOG_ERROR,
                "a message of rank %d of the communicator is not what the plan says (%zu of %zu "
                "bytes, step %u for %u, plan %08x for %08x)",
                transfer->peer, transfer->filled, transfer->bytes, header.seq, seq & 0xFFFFu,
                (unsigned)header.plan, (unsigned)slice->coll->schedule->hash);
    else if (header.flags & CGX_MESSAGE_UNRECOVERABLE)
        cgx_slice_decline(slice, CGX_UNRECOVERABLE);
    else if (header.flags & CGX_MESSAGE_DECLINED)
        cgx_slice_decline(slice, CGX_DECLINED);
    if (expected && header.flags & CGX_MESSAGE_CONSENSUS)
        slice->consensus = true;
    if (fails && early)
        cgx_slice_decline(slice, CGX_DECLINED);
    else if (fails)
        slice->lost = slice->missed = true;
}

enum cgx_status cgx_slice_exchange(struct cgx_slice *slice, size_t count, unsigned seq, bool early)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_transfer *transfers = coll->scratch->transfers;
    const struct cgx_puller puller = cgx_slice_puller(slice);
    const struct cgx_transports transports = {.mpi = coll->mpi,
                                              .comm = coll->comm,
                                              .pace = coll->pace,
                                              .shm = coll->shm,
                                              .puller =
                                                  slice->pull != CGX_PULL_NONE ? &puller : NULL};
    enum cgx_status status =
        cgx_exchange_run(coll->scratch->exchange, &transports, coll->scratch->transfers, count);

    for (size_t i = 0; status == CGX_OK && i < count; i++) {
        if (transfers[i].direction == CGX_TRANSFER_RECEIVE)
            take(slice, &transfers[i], seq, early);
    }
    if (slice->unpulled && early)
        cgx_slice_give_up(slice);
    else if (slice->unpulled)
        slice->lost = true;
    return status;
}
