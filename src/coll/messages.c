/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include <stdio.h>
#include <string.h>

#include "mpi/types.h"
#include "util/log.h"

/* ---- packed messages ---- */

/* Whether messages between this rank and PEER may be packed. Local peers read messages in place. */
static bool may_pack(const struct cgx_slice *slice, int peer)
{
    return !cgx_exchange_shares(&slice->coll->transports, peer);
}

/* Packs the message of BLOCK, which has pieces of variable size, unless it is already; returns
 * whether it is packed. All peers are sent the same message. */
static bool pack_message(struct cgx_slice *slice, struct cgx_block block)
{
    const struct cgx_scratch *scratch = slice->coll->scratch;
    const struct cgx_extent extent = cgx_slice_extent(slice, block);
    const unsigned char *payload = slice->staging + extent.begin;
    struct cgx_packed *packed = &slice->packed;
    size_t most = CGX_MESSAGE_HEADER_BYTES + extent.end - extent.begin;

    if (packed->block.first == block.first && packed->block.end == block.end)
        return packed->message != NULL;
    packed->block = block;
    packed->message = NULL;
    if (most > scratch->reserved.packed - packed->taken)
        return false;
    packed->bytes =
        cgx_pack(&extent, payload, scratch->packed + packed->taken + CGX_MESSAGE_HEADER_BYTES);
    if (packed->bytes == 0)
        return false;
    packed->message = scratch->packed + packed->taken;
    packed->taken += CGX_MESSAGE_HEADER_BYTES + packed->bytes;
    return true;
}

/* Unpacks the message of TRANSFER in place. The exchange is over, so the space for packed messages
 * is free. */
static bool unpack_message(const struct cgx_slice *slice, const struct cgx_transfer *transfer)
{
    const struct cgx_extent extent = cgx_slice_extent(slice, transfer->block);
    unsigned char *payload = transfer->data + CGX_MESSAGE_HEADER_BYTES;
    unsigned char *room = slice->coll->scratch->packed;
    size_t bytes = transfer->filled - CGX_MESSAGE_HEADER_BYTES;

    if (!may_pack(slice, transfer->peer) || bytes > extent.end - extent.begin)
        return false;
    memcpy(room, payload, bytes);
    return cgx_unpack(&extent, room, bytes, payload) == CGX_OK;
}

/* ---- sending ---- */

/* How many bytes of TRANSFER reach its receiver: pieces of variable size may leave some unused. */
static size_t sent_of(const struct cgx_slice *slice, const struct cgx_transfer *transfer)
{
    const struct cgx_extent extent = cgx_slice_extent(slice, transfer->block);
    const unsigned char *payload = slice->staging + extent.begin;
    size_t used = CGX_MESSAGE_HEADER_BYTES;
    struct cgx_runs runs = {0};
    struct cgx_shown shown;

    if (may_pack(slice, transfer->peer))
        return transfer->filled;
    while (cgx_runs_next(&extent, payload, &runs, &shown))
        used += shown.bytes;
    return used;
}

/* The number of elements of a call with PLAN, as message headers state it. */
static uint32_t elements_of(const struct cgx_plan *plan)
{
    return plan->count < CGX_MESSAGE_ELEMENTS_MOST ? (uint32_t)plan->count
                                                   : CGX_MESSAGE_ELEMENTS_MOST;
}

static uint8_t flags_of(const struct cgx_slice *slice)
{
    return (uint8_t)((slice->vote != CGX_ABLE ? CGX_MESSAGE_DECLINED : 0) |
                     (slice->lost ? CGX_MESSAGE_LOST : 0) |
                     (slice->vote == CGX_UNRECOVERABLE ? CGX_MESSAGE_UNRECOVERABLE : 0) |
                     (slice->held ? CGX_MESSAGE_HELD : 0));
}

static void seal_message(struct cgx_slice *slice, struct cgx_transfer *transfer)
{
    bool present = slice->vote == CGX_ABLE && !slice->lost;
    const struct cgx_plan *plan = &slice->coll->schedule->plan;
    struct cgx_message header = {.flags = flags_of(slice),
                                 .dtype = (uint8_t)plan->dtype,
                                 .elements = elements_of(plan),
                                 .seq = (uint16_t)slice->seq,
                                 .plan = slice->coll->state.hash,
                                 .bytes = present ? transfer->bytes - CGX_MESSAGE_HEADER_BYTES : 0};

    if (slice->number == 0 && cgx_slice_is_early(slice))
        memcpy(header.sketch, slice->coll->sketch.signs, sizeof header.sketch);
    if (present && transfer->has_variable_size && pack_message(slice, transfer->block)) {
        header.flags = CGX_MESSAGE_PACKED;
        header.bytes = slice->packed.bytes;
        transfer->data = slice->packed.message;
    }
    cgx_message_write(&header, transfer->data);
    transfer->filled = CGX_MESSAGE_HEADER_BYTES + header.bytes;
    slice->sent += present ? sent_of(slice, transfer) : transfer->filled;
}

/* Adds MESSAGE to the transfers of the exchange, unless it is empty. */
static void list_message(struct cgx_slice *slice, struct cgx_program_message message)
{
    const struct cgx_cut *cut = &slice->cut;
    struct cgx_transfer *transfer = &slice->coll->scratch->transfers[slice->ntransfers];
    size_t at = cut->part[message.block.first].at;

    if (cgx_cut_pieces(cut, message.block) == 0)
        return;
    slice->ntransfers++;
    transfer->peer = (int)message.peer;
    transfer->block = message.block;
    transfer->bytes = cgx_cut_bytes(cut, message.block);
    if (!message.sends && cgx_slice_is_early(slice))
        at = cut->input[slice->round] + message.copy * transfer->bytes;
    transfer->data = slice->staging + at;
    transfer->has_variable_size =
        cgx_slice_has_variable_size(slice, message.block) && may_pack(slice, (int)message.peer);
    transfer->direction = message.sends ? CGX_TRANSFER_SEND : CGX_TRANSFER_RECEIVE;
    if (message.sends)
        seal_message(slice, transfer);
}

/* The number of the round's messages among those between a pair of ranks: there is a number for
 * each kind of level in each slice, whether or not the program has such a level (doc/format.md). */
static unsigned seq_of(const struct cgx_slice *slice)
{
    const struct cgx_program *program = cgx_slice_program(slice);
    unsigned kind = program->levels > 0 ? cgx_program_level(program, slice->round)->kind : 0;

    return slice->number * (2 * CGX_LEVELS + 1) +
           (cgx_slice_is_early(slice) ? 1 + kind : 2 * CGX_LEVELS - kind);
}

enum cgx_status cgx_slice_post(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_program *program = cgx_slice_program(slice);
    const unsigned size = program->levels > 0 ? cgx_program_level(program, slice->round)->size : 0;
    struct cgx_transports transports = coll->transports;

    transports.taker = cgx_slice_taker(slice);
    slice->ntransfers = 0;
    slice->packed = (struct cgx_packed){0};
    slice->seq = seq_of(slice);
    for (unsigned i = 0; i + 2 < 2 * size; i++)
        list_message(slice, cgx_program_message(program, slice->round, i));
    return cgx_exchange_begin(coll->scratch->exchange, &transports, coll->scratch->transfers,
                              slice->ntransfers);
}

/* ---- receiving ---- */

/* Reads HEADER. Returns whether header and length match the schedule. Such a message either has a
 * payload, which is unpacked, or flags. */
static bool is_expected(const struct cgx_slice *slice, const struct cgx_transfer *transfer,
                        struct cgx_message *header)
{
    size_t payload = transfer->filled - CGX_MESSAGE_HEADER_BYTES;

    if (transfer->filled < CGX_MESSAGE_HEADER_BYTES ||
        cgx_message_read(transfer->data, header) != CGX_OK || header->seq != (uint16_t)slice->seq ||
        header->plan != slice->coll->state.hash)
        return false;
    if (header->flags == CGX_MESSAGE_PACKED)
        return header->bytes == payload && unpack_message(slice, transfer);
    return header->flags != 0 || (transfer->filled == transfer->bytes && header->bytes == payload);
}

/* Whether HEADER is of a sum of another count or type. */
static bool is_other_sum(const struct cgx_slice *slice, const struct cgx_message *header)
{
    const struct cgx_plan *plan = &slice->coll->schedule->plan;

    return header->elements > 0 &&
           (header->elements != elements_of(plan) || header->dtype != plan->dtype);
}

/* Logs that the message of TRANSFER belongs to another call. HEADER is all zeros if the message has
 * none. */
static void log_unexpected(const struct cgx_slice *slice, const struct cgx_transfer *transfer,
                           const struct cgx_message *header)
{
    const struct cgx_plan *plan = &slice->coll->schedule->plan;
    char both[192] = "";

    if (is_other_sum(slice, header))
        snprintf(both, sizeof both,
                 "ranks called MPI_Allreduce with different counts or types at one time, rank %d "
                 "with %u%s elements of %s, this rank with %zu of %s: ",
                 transfer->peer, (unsigned)header->elements,
                 header->elements == CGX_MESSAGE_ELEMENTS_MOST ? " or more" : "",
                 cgx_type_name(cgx_type_of(header->dtype)), plan->count,
                 cgx_type_name(cgx_type_of(plan->dtype)));
    cgx_log(CGX_LOG_ERROR,
            "%sa message of rank %d of the communicator is not what the plan says (%zu of %zu "
            "bytes, number %u for %u, plan %08x for %08x)",
            both, transfer->peer, transfer->filled, transfer->bytes, header->seq,
            slice->seq & 0xFFFFu, (unsigned)header->plan, (unsigned)slice->coll->state.hash);
}

static void read_message(struct cgx_slice *slice, const struct cgx_transfer *transfer)
{
    struct cgx_message header = {0};
    bool expected = is_expected(slice, transfer, &header);
    bool fails = !expected || (header.flags & CGX_MESSAGE_LOST) != 0;

    if (!expected && slice->vote == CGX_ABLE)
        log_unexpected(slice, transfer, &header);
    if (expected && header.flags & CGX_MESSAGE_UNRECOVERABLE)
        cgx_slice_decline(slice, CGX_UNRECOVERABLE);
    else if (expected && header.flags & CGX_MESSAGE_DECLINED)
        cgx_slice_decline(slice, CGX_DECLINED);
    if (expected && header.flags & CGX_MESSAGE_HELD)
        slice->held = true;
    slice->heard++;
    slice->agreeing += expected && cgx_sketch_agrees(&slice->coll->sketch, header.sketch);
    slice->zeros += expected && cgx_sketch_is_alone(&slice->coll->sketch, header.sketch);
    /* In an exact call MPI may write beyond the shorter buffer, or wait for ever. */
    if (fails && cgx_slice_is_early(slice))
        cgx_slice_decline(slice, is_other_sum(slice, &header) ? CGX_UNRECOVERABLE : CGX_DECLINED);
    else if (fails)
        slice->lost = slice->missed = true;
}

enum cgx_status cgx_slice_poll(struct cgx_slice *slice, bool *complete)
{
    const struct cgx_scratch *scratch = slice->coll->scratch;
    enum cgx_status status = cgx_exchange_poll(scratch->exchange, complete);

    if (status != CGX_OK || !*complete)
        return status;
    slice->heard = slice->agreeing = slice->zeros = 0;
    for (size_t i = 0; i < slice->ntransfers; i++) {
        if (scratch->transfers[i].direction == CGX_TRANSFER_RECEIVE)
            read_message(slice, &scratch->transfers[i]);
    }
    return CGX_OK;
}
