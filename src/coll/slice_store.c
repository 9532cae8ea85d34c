/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Gives what the host has to backends; of pieces that vary only the bytes in use. */
#include "coll/scratch.h"

/* Gives the message of BLOCK at staging offset AT to BACKEND; of pieces that vary only the bytes in
 * use. */
static void store_used(const struct cgx_slice *slice, struct cgx_backend *backend,
                       const struct cgx_block *block, size_t at)
{
    const struct cgx_extent extent = cgx_slice_extent(slice, block);
    const unsigned char *payload = slice->slot->staging + at + CGX_MESSAGE_HEADER_BYTES;
    struct cgx_runs runs = {0};
    struct cgx_shown run;

    while (cgx_runs_next(&extent, payload, &runs, &run))
        backend->ops->store(backend, slice->slot_number, payload + run.offset, run.bytes);
}

void cgx_slice_store(struct cgx_slice *slice, const struct cgx_block *block, size_t at,
                     unsigned count)
{
    struct cgx_backend *encoder = slice->coll->encoder;
    size_t each = CGX_MESSAGE_HEADER_BYTES + block->bytes;

    if (slice->vote != CGX_ABLE)
        return;
    if (!cgx_slice_varies(slice, block))
        encoder->ops->store(encoder, slice->slot_number, slice->slot->staging + at, count * each);
    else
        for (unsigned i = 0; i < count; i++)
            store_used(slice, encoder, block, at + i * each);
}

void cgx_slice_store_parts(const struct cgx_slice *slice, struct cgx_backend *backend, size_t begin,
                           size_t end)
{
    bool varies = false;

    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(slice->coll->schedule); chunk++)
        varies = varies || cgx_slice_varies(slice, &slice->parts[chunk]);
    if (!varies) {
        backend->ops->store(backend, slice->slot_number, slice->slot->staging + begin, end - begin);
        return;
    }
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(slice->coll->schedule); chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];

        if (part->npieces > 0 && part->message >= begin && part->message < end)
            store_used(slice, backend, part, part->message);
    }
}
