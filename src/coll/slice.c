/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include "coll/split.h"
#include "util/log.h"

static void lay_part(struct cgx_slice *slice, unsigned owner)
{
    const struct cgx_shape *shape = slice->coll->shape;
    struct cgx_lane *lane = slice->lane;
    struct cgx_range range =
        cgx_split_part(shape->plan, shape->ranks, owner, shape->slices, slice->number);
    size_t payload = slice->end + CGX_MESSAGE_HEADER_BYTES;
    struct cgx_part *part = &lane->parts[owner];

    part->message = slice->end;
    part->first_piece = slice->pieces;
    part->npieces =
        cgx_split_pieces(shape->plan, range, payload, lane->pieces + slice->pieces, &slice->end);
    part->spreads = slice->end;
    slice->end += cgx_split_spreads(shape->plan, part->npieces);
    part->bytes = slice->end - payload;
    slice->pieces += part->npieces;
}

void cgx_slice_begin(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice)
{
    const struct cgx_plan *plan = coll->shape->plan;

    *slice = (struct cgx_slice){.coll = coll,
                                .lane_number = number % CGX_LANES,
                                .lane = &coll->scratch->lanes[number % CGX_LANES],
                                .coding = {.dtype = plan->dtype,
                                           .bucket_size = plan->bucket_size,
                                           .rounding = plan->rounding,
                                           .seed = coll->seed,
                                           .call = coll->call,
                                           .stream = coll->rank},
                                .number = number,
                                .withheld = coll->withheld,
                                .hopeless = coll->hopeless};
    for (unsigned owner = 0; owner < coll->shape->ranks; owner++) {
        if (owner != coll->rank)
            lay_part(slice, owner);
    }
    lay_part(slice, coll->rank);
    slice->samples = slice->end;
    if (coll->shape->reduction == CGX_REDUCTION_SRA)
        slice->samples += cgx_rsag_extra(
            coll->shape->ranks, CGX_MESSAGE_HEADER_BYTES + slice->lane->parts[coll->rank].bytes);
}

static uint8_t flags_of(const struct cgx_slice *slice)
{
    return (uint8_t)((slice->withheld ? CGX_MESSAGE_WITHHELD : 0) |
                     (slice->failed ? CGX_MESSAGE_FAILED : 0) |
                     (slice->hopeless ? CGX_MESSAGE_HOPELESS : 0));
}

void cgx_slice_send(struct cgx_slice *slice, size_t index, unsigned peer, size_t message,
                    size_t bytes, unsigned step)
{
    unsigned char *data = slice->lane->staging + message;
    bool present = !slice->withheld && !slice->failed;
    const struct cgx_message header = {.flags = flags_of(slice),
                                       .step = (uint16_t)step,
                                       .plan = slice->coll->shape->hash,
                                       .bytes = present ? bytes : 0};
    struct cgx_transfer *transfer = &slice->coll->scratch->transfers[index];

    cgx_message_write(&header, data);
    transfer->direction = CGX_TRANSFER_SEND;
    transfer->peer = (int)peer;
    transfer->data = data;
    transfer->bytes = CGX_MESSAGE_HEADER_BYTES + bytes;
    transfer->filled = CGX_MESSAGE_HEADER_BYTES + header.bytes;
    slice->sent += transfer->filled;
}

void cgx_slice_receive(struct cgx_slice *slice, size_t index, unsigned peer, size_t message,
                       size_t bytes)
{
    struct cgx_transfer *transfer = &slice->coll->scratch->transfers[index];

    transfer->direction = CGX_TRANSFER_RECEIVE;
    transfer->peer = (int)peer;
    transfer->data = slice->lane->staging + message;
    transfer->bytes = CGX_MESSAGE_HEADER_BYTES + bytes;
}

enum cgx_status cgx_slice_exchange(struct cgx_slice *slice, size_t count)
{
    const struct cgx_coll *coll = slice->coll;

    return cgx_exchange_run(coll->scratch->exchange, coll->mpi, coll->comm, 0,
                            coll->scratch->transfers, count);
}

/* True if HEADER and length are those of message STEP, with its payload or flagged. */
static bool is_expected(const struct cgx_slice *slice, const struct cgx_transfer *transfer,
                        unsigned step, struct cgx_message *header)
{
    size_t payload = transfer->filled - CGX_MESSAGE_HEADER_BYTES;

    if (transfer->filled < CGX_MESSAGE_HEADER_BYTES ||
        cgx_message_read(transfer->data, header) != CGX_OK || header->step != (uint16_t)step ||
        header->plan != slice->coll->shape->hash)
        return false;
    return header->flags != 0 || (transfer->filled == transfer->bytes && header->bytes == payload);
}

void cgx_slice_take(struct cgx_slice *slice, size_t index, unsigned step, bool early)
{
    const struct cgx_transfer *transfer = &slice->coll->scratch->transfers[index];
    struct cgx_message header = {0};
    bool expected = is_expected(slice, transfer, step, &header);
    bool fails = !expected || (header.flags & CGX_MESSAGE_FAILED) != 0;

    if (!expected)
        cgx_log(CGX_LOG_ERROR,
                "a message of rank %d of the communicator is not what the plan says (%zu of %zu "
                "bytes, step %u for %u, plan %08x for %08x)",
                transfer->peer, transfer->filled, transfer->bytes, header.step, step & 0xFFFFu,
                (unsigned)header.plan, (unsigned)slice->coll->shape->hash);
    else if (header.flags & CGX_MESSAGE_WITHHELD)
        slice->withheld = true;
    if (expected && header.flags & CGX_MESSAGE_HOPELESS)
        slice->hopeless = true;
    if (fails && early)
        slice->withheld = true;
    else if (fails)
        slice->failed = true;
}
