/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Messages of local peers: the processor copies their payloads or, but for their headers and, in
 * complete sums, the heads of pieces of variable size, this rank's device does, or it reads them in
 * their owners' memory.
 *
 * A sum that this rank decodes in its owner's memory must stay there until then. Only the owner's
 * next sum of the slot overwrites it. For that sum the owner needs this rank's contribution, which
 * this rank's device encodes after it has decoded. Nothing else is written there (cgx_cut_slice).
 * At the end of the call this rank releases the last sums and the owner waits for that (run.c). */
#include "coll/slice.h"

#include <string.h>

#include "codec/encoding.h"
#include "util/integers.h"

static void copy_heads(const struct cgx_extent *extent, const unsigned char *from,
                       unsigned char *to)
{
    for (size_t i = 0; i < extent->npieces; i++) {
        size_t head = extent->pieces[i].offset - extent->begin + CGX_MESSAGE_HEADER_BYTES;

        if (cgx_encoding_quantiser(extent->pieces[i].bits)->has_variable_size)
            memcpy(to + head, from + head, sizeof(struct cgx_uniform_head));
    }
}

static bool take_message(void *state, const struct cgx_transfer *transfer,
                         const struct cgx_shm_message *message)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *backend = slice->coll->backend;
    const size_t header = CGX_MESSAGE_HEADER_BYTES;
    const struct cgx_extent extent = cgx_slice_extent(slice, transfer->block);
    unsigned peer = cgx_slice_program(slice)->shape.nodes->local[transfer->peer];
    bool by_device = slice->pull != CGX_PULL_NONE, is_summed = cgx_slice_is_early(slice);
    struct cgx_runs runs = {0};
    struct cgx_shown run;

    memcpy(transfer->data, message->data, cgx_smaller(transfer->filled, header));
    /* If the message is incomplete, it is refused later, or its flags say that it has no payload.
     */
    if (slice->vote != CGX_ABLE || transfer->filled != transfer->bytes ||
        transfer->filled == header)
        return !by_device;
    if (by_device && !is_summed)
        copy_heads(&extent, message->data, transfer->data);
    if (by_device && (is_summed || slice->pull == CGX_PULL_DEVICE) &&
        backend->ops->borrow(backend, slice->slot, peer, message->offset, transfer->data,
                             transfer->filled))
        return false;
    /* Of pieces of variable size, only the bytes in use: the peer has shown their heads. */
    while (cgx_runs_next(&extent, message->data + header, &runs, &run)) {
        if (by_device)
            backend->ops->pull(backend, slice->slot, peer, message->offset + header + run.offset,
                               transfer->data + header + run.offset, run.bytes);
        else
            memcpy(transfer->data + header + run.offset, message->data + header + run.offset,
                   run.bytes);
    }
    return !by_device;
}

static void settle_pulls(void *state)
{
    struct cgx_slice *slice = state;
    struct cgx_backend *backend = slice->coll->backend;

    if (slice->coll->vote != CGX_ABLE || backend->ops->wait(backend, slice->slot) == CGX_OK)
        return;
    if (cgx_slice_is_early(slice))
        cgx_slice_give_up(slice);
    else
        slice->lost = true;
}

struct cgx_taker cgx_slice_taker(struct cgx_slice *slice)
{
    return (struct cgx_taker){slice, take_message, settle_pulls};
}

void cgx_slice_publish(struct cgx_slice *slice)
{
    struct cgx_backend *backend = slice->coll->backend;
    const struct cgx_program *program = cgx_slice_program(slice);
    const struct cgx_block shard = {program->shard, program->parts};

    slice->lent = slice->pull == CGX_PULL_DEVICE && slice->vote == CGX_ABLE && !slice->lost &&
                  cgx_cut_pieces(&slice->cut, shard) > 0;
    if (slice->lent && backend->ops->wait(backend, slice->slot) != CGX_OK)
        slice->lost = true;
}
