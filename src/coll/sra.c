/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* SRA: every member sends its part of each block to the block's owner, who has them all to sum at
 * once, and then sends the sum to all. */
#include "coll/stage.h"

/* The foreign blocks, which lie together. */
static struct cgx_block first_send(const struct cgx_stage *stage)
{
    struct cgx_block run = {0};

    for (unsigned i = 0; i < stage->nblocks; i++) {
        const struct cgx_block *block = &stage->blocks[i];

        if (i == stage->self)
            continue;
        if (i == (stage->self == 0 ? 1 : 0))
            run = *block;
        run.bytes = block->message + block->bytes - run.message;
        run.npieces = block->first_piece + block->npieces - run.first_piece;
    }
    return run;
}

static enum cgx_status reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    const struct cgx_block *own = stage->self < stage->nblocks ? &stage->blocks[stage->self] : NULL;
    size_t extent = own ? CGX_MESSAGE_HEADER_BYTES + own->bytes : 0;
    size_t count = 0, arrived = 0;
    enum cgx_status status;

    for (unsigned member = 0; member < stage->size; member++) {
        unsigned peer = cgx_stage_rank(slice, stage, member);

        if (member == stage->self)
            continue;
        if (own)
            cgx_slice_receive(slice, count++, peer, own, stage->incoming + arrived++ * extent);
        if (member < stage->nblocks)
            cgx_slice_send(slice, count++, peer, &stage->blocks[member], stage->seq);
    }
    status = cgx_slice_exchange(slice, count, stage->seq, true);
    if (status != CGX_OK || !own)
        return status;
    cgx_stage_store(slice, stage, stage->incoming, arrived * extent);
    cgx_operands_rebase(&slice->operands, own->message);
    cgx_operands_surround(&slice->operands, slice->slot->staging + stage->incoming, extent,
                          stage->self, stage->size - 1 - stage->self, own->is_raw);
    return CGX_OK;
}

static enum cgx_status allgather(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    size_t count = 0;

    for (unsigned member = 0; member < stage->size; member++) {
        unsigned peer = cgx_stage_rank(slice, stage, member);

        if (member == stage->self)
            continue;
        if (member < stage->nblocks)
            cgx_slice_receive(slice, count++, peer, &stage->blocks[member],
                              stage->blocks[member].message);
        if (stage->self < stage->nblocks)
            cgx_slice_send(slice, count++, peer, &stage->blocks[stage->self], stage->seq);
    }
    return cgx_slice_exchange(slice, count, stage->seq, false);
}

const struct cgx_stage_ops cgx_sra = {
    .first_send = first_send, .reduce_scatter = reduce_scatter, .allgather = allgather};
