/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"
#include "util/log.h"

static uint8_t flags_of(const struct cgx_slice *slice)
{
    bool unrecoverable = slice->standing == CGX_UNRECOVERABLE;

    return (uint8_t)((slice->standing != CGX_ABLE ? CGX_MESSAGE_DECLINED : 0) |
                     (slice->lost ? CGX_MESSAGE_LOST : 0) |
                     (unrecoverable ? CGX_MESSAGE_UNRECOVERABLE : 0) |
                     (slice->consensus ? CGX_MESSAGE_CONSENSUS : 0));
}

/* The next message of the exchange, which is BLOCK's. */
static struct cgx_transfer *list(struct cgx_slice *slice, unsigned peer,
                                 const struct cgx_block *block, size_t at)
{
    struct cgx_transfer *transfer = &slice->coll->scratch->transfers[slice->ntransfers++];

    transfer->peer = (int)peer;
    transfer->block = block;
    transfer->data = slice->slot->staging + at;
    transfer->bytes = CGX_MESSAGE_HEADER_BYTES + block->bytes;
    return transfer;
}

void cgx_slice_send(struct cgx_slice *slice, unsigned peer, const struct cgx_block *block)
{
    bool present = slice->standing == CGX_ABLE && !slice->lost;
    const struct cgx_message header = {.flags = flags_of(slice),
                                       .seq = (uint16_t)slice->seq,
                                       .plan = slice->coll->schedule->hash,
                                       .bytes = present ? block->bytes : 0};
    struct cgx_transfer *transfer = list(slice, peer, block, block->message);

    cgx_message_write(&header, transfer->data);
    transfer->direction = CGX_TRANSFER_SEND;
    transfer->filled = CGX_MESSAGE_HEADER_BYTES + header.bytes;
    slice->sent += transfer->filled;
}

void cgx_slice_receive(struct cgx_slice *slice, unsigned peer, const struct cgx_block *block,
                       size_t at)
{
    list(slice, peer, block, at)->direction = CGX_TRANSFER_RECEIVE;
}

/* True if HEADER and length are those of the message, with its payload or flagged. */
static bool is_expected(const struct cgx_slice *slice, const struct cgx_transfer *transfer,
                        struct cgx_message *header)
{
    size_t payload = transfer->filled - CGX_MESSAGE_HEADER_BYTES;

    if (transfer->filled < CGX_MESSAGE_HEADER_BYTES ||
        cgx_message_read(transfer->data, header) != CGX_OK || header->seq != (uint16_t)slice->seq ||
        header->plan != slice->coll->schedule->hash)
        return false;
    return header->flags != 0 || (transfer->filled == transfer->bytes && header->bytes == payload);
}

static void take(struct cgx_slice *slice, const struct cgx_transfer *transfer)
{
    struct cgx_message header = {0};
    bool expected = is_expected(slice, transfer, &header);
    bool fails = !expected || (header.flags & CGX_MESSAGE_LOST) != 0;

    if (!expected)
        cgx_log(CGX_LOG_ERROR,
                "a message of rank %d of the communicator is not what the plan says (%zu of %zu "
                "bytes, step %u for %u, plan %08x for %08x)",
                transfer->peer, transfer->filled, transfer->bytes, header.seq, slice->seq & 0xFFFFu,
                (unsigned)header.plan, (unsigned)slice->coll->schedule->hash);
    else if (header.flags & CGX_MESSAGE_UNRECOVERABLE)
        cgx_slice_decline(slice, CGX_UNRECOVERABLE);
    else if (header.flags & CGX_MESSAGE_DECLINED)
        cgx_slice_decline(slice, CGX_DECLINED);
    if (expected && header.flags & CGX_MESSAGE_CONSENSUS)
        slice->consensus = true;
    if (fails && cgx_slice_is_early(slice))
        cgx_slice_decline(slice, CGX_DECLINED);
    else if (fails)
        slice->lost = slice->missed = true;
}

enum cgx_status cgx_slice_post(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_transports transports = {.mpi = coll->mpi,
                                              .comm = coll->comm,
                                              .tag = coll->tag,
                                              .pace = coll->pace,
                                              .shm = coll->shm,
                                              .puller = cgx_slice_puller(slice)};

    return cgx_exchange_begin(coll->scratch->exchange, &transports, coll->scratch->transfers,
                              slice->ntransfers);
}

enum cgx_status cgx_slice_poll(struct cgx_slice *slice, bool *complete)
{
    const struct cgx_scratch *scratch = slice->coll->scratch;
    enum cgx_status status = cgx_exchange_poll(scratch->exchange, complete);

    if (status != CGX_OK || !*complete)
        return status;
    for (size_t i = 0; i < slice->ntransfers; i++) {
        if (scratch->transfers[i].direction == CGX_TRANSFER_RECEIVE)
            take(slice, &scratch->transfers[i]);
    }
    if (slice->unpulled && cgx_slice_is_early(slice))
        cgx_slice_give_up(slice);
    else if (slice->unpulled)
        slice->lost = true;
    slice->ntransfers = 0;
    return CGX_OK;
}
