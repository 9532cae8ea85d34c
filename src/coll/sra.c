/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* SRA: every member sends its part of each block to the block's owner, who has them all to sum at
 * once, and then sends the sum to all. Some block has an owner, who hears of all members and is
 * heard by all, so that what ranks say reaches everyone without messages of empty blocks. */
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

static unsigned rounds(const struct cgx_stage *stage)
{
    (void)stage;
    return 1;
}

static const struct cgx_block *own_of(const struct cgx_stage *stage)
{
    return stage->self < stage->nblocks ? &stage->blocks[stage->self] : NULL;
}

/* Nobody has anything of it: no message with it is sent. */
static bool is_empty(const struct cgx_block *block)
{
    return block->npieces == 0;
}

/* Of all members, peers are taken from the next one on, so that no two begin with the same. */
static void scatter(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    const struct cgx_block *own = own_of(stage);
    size_t at = stage->incoming;

    (void)round;
    for (unsigned i = 1; i < stage->size; i++) {
        unsigned member = (stage->self + i) % stage->size;
        unsigned peer = cgx_stage_rank(slice, stage, member);

        if (own && !is_empty(own))
            cgx_slice_receive(slice, peer, own,
                              at + (member - (member > stage->self)) *
                                       (CGX_MESSAGE_HEADER_BYTES + own->bytes));
        if (member < stage->nblocks && !is_empty(&stage->blocks[member]))
            cgx_slice_send(slice, peer, &stage->blocks[member]);
    }
}

static void sum(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    const struct cgx_block *own = own_of(stage);
    size_t extent;

    (void)round;
    if (!own || is_empty(own))
        return;
    extent = CGX_MESSAGE_HEADER_BYTES + own->bytes;
    cgx_stage_store(slice, stage, stage->incoming, (stage->size - 1) * extent);
    cgx_operands_rebase(&slice->operands, own->message);
    cgx_operands_surround(&slice->operands, slice->slot->staging + stage->incoming, extent,
                          stage->self, stage->size - 1 - stage->self, own->is_raw);
}

static void gather(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    const struct cgx_block *own = own_of(stage);

    (void)round;
    for (unsigned i = 1; i < stage->size; i++) {
        unsigned member = (stage->self + i) % stage->size;
        unsigned peer = cgx_stage_rank(slice, stage, member);

        if (member < stage->nblocks && !is_empty(&stage->blocks[member]))
            cgx_slice_receive(slice, peer, &stage->blocks[member], stage->blocks[member].message);
        if (own && !is_empty(own))
            cgx_slice_send(slice, peer, own_of(stage));
    }
}

const struct cgx_stage_ops cgx_sra = {
    .first_send = first_send, .rounds = rounds, .scatter = scatter, .sum = sum, .gather = gather};
