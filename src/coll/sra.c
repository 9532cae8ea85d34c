/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* SRA: every member sends its contribution to each block to the block's owner. The owner sums all
 * contributions at once and sends the sum to all. Empty blocks have no messages. Each slice has a
 * block that is not empty; its owner receives from all members and sends to all, so that their
 * flags reach every member. */
#include "coll/stage.h"

struct cgx_block cgx_sra_first_send(const struct cgx_stage *stage)
{
    struct cgx_block run = {0}; /* they are adjacent */

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

/* The block of MEMBER, or NULL if it owns none or an empty one. */
static const struct cgx_block *block_of(const struct cgx_stage *stage, unsigned member)
{
    const struct cgx_block *block = &stage->blocks[member];

    return member < stage->nblocks && block->npieces > 0 ? block : NULL;
}

/* The members that this one sends to and receives from in TURN of an exchange. No two members begin
 * with the same one, and messages arrive roughly in the order of their receives. */
static unsigned receiver(const struct cgx_stage *stage, unsigned turn)
{
    return (stage->self + turn) % stage->size;
}

static unsigned sender(const struct cgx_stage *stage, unsigned turn)
{
    return (stage->self + stage->size - turn) % stage->size;
}

void cgx_sra_reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    const struct cgx_block *own_part = block_of(stage, stage->self);
    size_t extent = own_part ? CGX_MESSAGE_HEADER_BYTES + own_part->bytes : 0;

    for (unsigned turn = 1; turn < stage->size; turn++) {
        unsigned to = receiver(stage, turn), from = sender(stage, turn);
        unsigned place = from - (from > stage->self); /* in the order of members */
        const struct cgx_block *block = block_of(stage, to);

        if (own_part)
            cgx_slice_receive(slice, cgx_stage_rank(slice, stage, from), own_part,
                              stage->incoming + place * extent);
        if (block)
            cgx_slice_send(slice, cgx_stage_rank(slice, stage, to), block);
    }
}

void cgx_sra_sum(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    const struct cgx_block *own_part = block_of(stage, stage->self);
    size_t extent;

    if (!own_part)
        return;
    extent = CGX_MESSAGE_HEADER_BYTES + own_part->bytes;
    cgx_stage_store(slice, stage, own_part, stage->size - 1);
    cgx_operands_rebase(&slice->operands, own_part->message);
    cgx_operands_surround(&slice->operands, slice->slot->staging + stage->incoming, extent,
                          stage->self, stage->size - 1 - stage->self);
}

void cgx_sra_allgather(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    const struct cgx_block *own_part = block_of(stage, stage->self);

    for (unsigned turn = 1; turn < stage->size; turn++) {
        unsigned to = receiver(stage, turn), from = sender(stage, turn);
        const struct cgx_block *block = block_of(stage, from);

        if (block)
            cgx_slice_receive(slice, cgx_stage_rank(slice, stage, from), block, block->message);
        if (own_part)
            cgx_slice_send(slice, cgx_stage_rank(slice, stage, to), own_part);
    }
}
