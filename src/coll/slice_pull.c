/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads that the device copies from mates. The host takes of a message its header and, of what
 * is complete, what stands behind the pieces of parts. What is to be summed it sees where the mate
 * has it: in staging memory that the mate writes into no more before it has got the sum. */
#include "coll/slice.h"

#include <string.h>

#include "policy/plan.h"

bool cgx_slice_needs_headers(const struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;

    return schedule->plan->adaptive || schedule->carries || slice->coll->steps;
}

const unsigned char *cgx_slice_seen(const struct cgx_slice *slice, const unsigned char *source)
{
    for (size_t i = 0; i < slice->npulled; i++) {
        const struct cgx_pulled *pulled = &slice->lane->pulled[i];

        if (source >= pulled->at && source < pulled->at + pulled->bytes)
            return pulled->seen + (source - pulled->at);
    }
    return source;
}

/* MESSAGE, which belongs to AT, is to be summed. What was there before has been. */
static void note(struct cgx_slice *slice, const unsigned char *at,
                 const struct cgx_shm_message *message)
{
    size_t i = 0;

    while (i < slice->npulled && slice->lane->pulled[i].at != at)
        i++;
    slice->lane->pulled[i] =
        (struct cgx_pulled){.at = at, .bytes = message->bytes, .seen = message->data};
    if (i == slice->npulled)
        slice->npulled++;
}

/* What stands behind the pieces of the parts within the message of UNIT. */
static void copy_tails(const struct cgx_slice *slice, const struct cgx_unit *unit,
                       const unsigned char *from, unsigned char *to)
{
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(slice->coll->schedule); chunk++) {
        const struct cgx_unit *part = &slice->parts[chunk];
        size_t end = part->message + CGX_MESSAGE_HEADER_BYTES + part->bytes;
        size_t tail = part->spreads - unit->message;

        if (cgx_slice_has(unit, part))
            memcpy(to + tail, from + tail, end - part->spreads);
    }
}

static void pull(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *encoder = slice->coll->encoder;
    const unsigned header = CGX_MESSAGE_HEADER_BYTES;
    unsigned mate = slice->coll->schedule->nodes->local[transfer->peer];

    memcpy(transfer->data, message->data, transfer->filled < header ? transfer->filled : header);
    /* Anything but the whole is refused, or a flag says that there is no payload. */
    if (slice->standing != CGX_ABLE || transfer->filled != transfer->bytes ||
        transfer->filled == header)
        return;
    if (transfer->data >= slice->lane->staging + slice->inner_incoming) {
        note(slice, transfer->data, message);
        if (encoder->ops->borrow(encoder, slice->lane_number, mate, message->offset, transfer->data,
                                 message->bytes))
            return;
    } else {
        copy_tails(slice, transfer->unit, message->data, transfer->data);
    }
    encoder->ops->pull(encoder, slice->lane_number, mate, message->offset + header,
                       transfer->data + header, transfer->filled - header);
}

static void settle(void *state)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *encoder = slice->coll->encoder;

    if (slice->coll->standing == CGX_ABLE &&
        encoder->ops->wait(encoder, slice->lane_number) != CGX_OK)
        slice->unpulled = true;
}

struct cgx_puller cgx_slice_puller(struct cgx_slice *slice)
{
    return (struct cgx_puller){.state = slice, .pull = pull, .settle = settle};
}

void cgx_slice_publish(struct cgx_slice *slice)
{
    struct cgx_backend *encoder = slice->coll->encoder;
    const struct cgx_unit *own = cgx_slice_own(slice);
    const struct cgx_unit *shard = &slice->shards[slice->local];
    unsigned char *staging = slice->lane->staging;
    size_t end =
        slice->changed ? own->message + CGX_MESSAGE_HEADER_BYTES + own->bytes : own->message;

    if (slice->pull == CGX_PULL_NONE || slice->standing != CGX_ABLE || slice->lost ||
        end == shard->message)
        return;
    encoder->ops->store(encoder, slice->lane_number, staging + shard->message,
                        end - shard->message);
    /* From the host mates may copy at once. */
    if (slice->pull == CGX_PULL_DEVICE && encoder->ops->wait(encoder, slice->lane_number) != CGX_OK)
        slice->lost = true;
}
