/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads that the device copies from local peers, or reads in their memory. The host copies the
 * header of each message and, from complete sums, the heads of pieces that vary.
 *
 * A sum that this rank decodes in its owner's memory must stay there until then. Only the owner's
 * next sum of the slot overwrites it. For that sum the owner needs this rank's contribution, which
 * this rank's device encodes after it has decoded. Nothing else is written there (slice_layout.c).
 * At the end of the call this rank releases the last sums and the owner waits for that (coll.c). */
#include "coll/scratch.h"

#include <string.h>

#include "codec/encoding.h"

/* Copies the heads of pieces that vary in the message of BLOCK. */
static void copy_heads(const struct cgx_slice *slice, const struct cgx_block *block,
                       const unsigned char *from, unsigned char *to)
{
    for (size_t i = 0; i < block->npieces; i++) {
        const struct cgx_piece *piece = &cgx_slice_pieces(slice, block)[i];
        size_t head = piece->offset - block->message;

        if (cgx_encoding_quantiser(piece->bits)->varies)
            memcpy(to + head, from + head, sizeof(struct cgx_uniform_head));
    }
}

/* Has the device copy MESSAGE, the payload of a local peer, to its place; of pieces that vary,
 * which the peer has shown, only the bytes in use. */
static void copy_payload(const struct cgx_slice *slice, const struct cgx_transfer *transfer,
                         const struct cgx_shm_message *message, unsigned peer)
{
    struct cgx_backend *encoder = slice->coll->encoder;
    const unsigned header = CGX_MESSAGE_HEADER_BYTES;
    const struct cgx_extent extent = cgx_slice_extent(slice, transfer->block);
    struct cgx_runs runs = {0};
    struct cgx_shown run = {0, transfer->filled - header};

    if (!cgx_slice_varies(slice, transfer->block)) {
        encoder->ops->pull(encoder, slice->slot_number, peer, message->offset + header,
                           transfer->data + header, run.bytes);
        return;
    }
    while (cgx_runs_next(&extent, message->data + header, &runs, &run))
        encoder->ops->pull(encoder, slice->slot_number, peer, message->offset + header + run.offset,
                           transfer->data + header + run.offset, run.bytes);
}

static void pull(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *encoder = slice->coll->encoder;
    const unsigned header = CGX_MESSAGE_HEADER_BYTES;
    unsigned peer = slice->coll->schedule->nodes->local[transfer->peer];
    bool is_summed;

    memcpy(transfer->data, message->data, transfer->filled < header ? transfer->filled : header);
    /* An incomplete message is refused later, or flags say that it has no payload. */
    if (slice->vote != CGX_ABLE || transfer->filled != transfer->bytes ||
        transfer->filled == header)
        return;
    is_summed = transfer->data >= slice->slot->staging + slice->incoming[CGX_LEVEL_NODE];
    if (!is_summed)
        copy_heads(slice, transfer->block, message->data, transfer->data);
    if ((is_summed || slice->pull == CGX_PULL_DEVICE) &&
        encoder->ops->borrow(encoder, slice->slot_number, peer, message->offset, transfer->data,
                             transfer->filled))
        return;
    copy_payload(slice, transfer, message, peer);
}

static void settle(void *state)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *encoder = slice->coll->encoder;

    if (slice->coll->vote == CGX_ABLE && encoder->ops->wait(encoder, slice->slot_number) != CGX_OK)
        slice->unpulled = true;
}

struct cgx_puller cgx_slice_puller(struct cgx_slice *slice)
{
    if (slice->pull == CGX_PULL_NONE)
        return (struct cgx_puller){0};
    return (struct cgx_puller){.state = slice, .pull = pull, .settle = settle};
}

void cgx_slice_publish(struct cgx_slice *slice)
{
    struct cgx_backend *encoder = slice->coll->encoder;
    const struct cgx_block *shard = &slice->shards[slice->local];
    /* The device has made the own part, at the end, itself. */
    size_t end = slice->is_owner ? cgx_slice_own_part(slice)->message
                                 : shard->message + CGX_MESSAGE_HEADER_BYTES + shard->bytes;

    if (slice->pull == CGX_PULL_NONE || slice->vote != CGX_ABLE || slice->lost ||
        shard->npieces == 0)
        return;
    slice->lent = slice->pull == CGX_PULL_DEVICE;
    if (end == shard->message)
        return;
    cgx_slice_store_parts(slice, encoder, shard->message, end);
    /* Local peers that copy from the host need not wait. */
    if (slice->pull == CGX_PULL_DEVICE && encoder->ops->wait(encoder, slice->slot_number) != CGX_OK)
        slice->lost = true;
}
