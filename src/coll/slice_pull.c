/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads from device to device. The host gets of a message its header and what stands behind the
 * pieces of parts, which hosts write and read, and the bucket headers where those are needed to
 * tell what sums hide. */
#include "coll/slice.h"

#include <string.h>

#include "policy/plan.h"

bool cgx_slice_needs_headers(const struct cgx_slice *slice)
{
    const struct cgx_shape *shape = slice->coll->shape;

    return shape->plan->adaptive || shape->carries || slice->coll->steps;
}

static void copy_headers(const struct cgx_slice *slice, const struct cgx_unit *part,
                         ptrdiff_t moved, const unsigned char *from, unsigned char *to)
{
    for (size_t i = 0; i < part->npieces; i++) {
        const struct cgx_piece *piece = &slice->lane->pieces[part->first_piece + i];
        size_t buckets = (piece->count + slice->coding.bucket_size - 1) / slice->coding.bucket_size;
        ptrdiff_t at = (ptrdiff_t)piece->offset + moved;

        if (piece->bits != CGX_BITS_EXACT)
            memcpy(to + at, from + at, buckets * CGX_BUCKET_HEADER_BYTES);
    }
}

/* Of the message of UNIT. */
static void copy_what_hosts_need(const struct cgx_slice *slice, const struct cgx_unit *unit,
                                 const unsigned char *from, unsigned char *to)
{
    const struct cgx_shape *shape = slice->coll->shape;
    ptrdiff_t moved = -(ptrdiff_t)unit->message;

    for (unsigned chunk = 0; chunk < cgx_shape_chunks(shape); chunk++) {
        const struct cgx_unit *part = &slice->parts[chunk];
        size_t part_end = part->message + CGX_MESSAGE_HEADER_BYTES + part->bytes;
        ptrdiff_t tail = (ptrdiff_t)part->spreads + moved;

        if (!cgx_slice_has(unit, part))
            continue;
        memcpy(to + tail, from + tail, part_end - part->spreads);
        if (shape->carries)
            copy_headers(slice, part, moved, from, to);
    }
}

static void pull(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *encoder = slice->coll->encoder;
    const unsigned header = CGX_MESSAGE_HEADER_BYTES;
    unsigned mate = slice->coll->shape->nodes->local[transfer->peer];

    memcpy(transfer->data, message->data, transfer->filled < header ? transfer->filled : header);
    /* Anything but the whole is refused, or a flag says that there is no payload. */
    if (slice->withheld || transfer->filled != transfer->bytes || transfer->filled == header)
        return;
    copy_what_hosts_need(slice, transfer->unit, message->data, transfer->data);
    encoder->ops->pull(encoder, slice->lane_number, mate, message->offset + header,
                       transfer->data + header, transfer->filled - header);
}

static void settle(void *state)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *encoder = slice->coll->encoder;

    if (!slice->coll->withheld && encoder->ops->wait(encoder, slice->lane_number) != CGX_OK)
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

    if (!slice->by_device || slice->withheld || slice->failed || end == shard->message)
        return;
    encoder->ops->store(encoder, slice->lane_number, staging + shard->message,
                        end - shard->message);
    if (encoder->ops->wait(encoder, slice->lane_number) != CGX_OK)
        slice->failed = true;
}
