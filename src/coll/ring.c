/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ring: a partial sum of each block travels from the member after its owner round to the owner,
 * and each member adds its contribution. Then the sum travels round once more, unchanged. Sums are
 * in cyclic order. Each member quantises the partial sum again, with steps that grow on the way. */
#include "coll/stage.h"

/* The member BACK places before this one. */
static unsigned before(const struct cgx_stage *stage, unsigned back)
{
    return (stage->self + 2 * stage->size - back) % stage->size;
}

/* Sends block OUT to the next member and receives block IN from the one before at staging offset
 * AT, if these blocks exist. */
static void pass_on(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned out,
                    unsigned in, size_t at)
{
    if (in < stage->nblocks)
        cgx_slice_receive(slice, cgx_stage_rank(slice, stage, before(stage, 1)), &stage->blocks[in],
                          at);
    if (out < stage->nblocks)
        cgx_slice_send(slice, cgx_stage_rank(slice, stage, (stage->self + 1) % stage->size),
                       &stage->blocks[out]);
}

static struct cgx_block first_send(const struct cgx_stage *stage)
{
    unsigned block = before(stage, 1);

    return block < stage->nblocks ? stage->blocks[block] : (struct cgx_block){0};
}

static unsigned rounds(const struct cgx_stage *stage, bool gathers)
{
    (void)gathers;
    return stage->size - 1;
}

static void reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    pass_on(slice, stage, before(stage, round + 1), before(stage, round + 2), stage->incoming);
}

static void sum(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    unsigned in = before(stage, round + 2);
    const struct cgx_block *block = &stage->blocks[in];

    if (in >= stage->nblocks)
        return;
    cgx_stage_store(slice, stage, block, 1);
    if (in == stage->self) {
        cgx_operands_rebase(&slice->operands, block->message);
        cgx_operands_surround(&slice->operands, slice->slot->staging + stage->incoming, 0, 1, 0,
                              false);
    } else {
        slice->coll->scratch->sources[0] = slice->slot->staging + stage->incoming;
        cgx_stage_sum(slice, stage, block, 1);
    }
}

static void allgather(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    unsigned in = before(stage, round + 1);

    pass_on(slice, stage, before(stage, round), in,
            in < stage->nblocks ? stage->blocks[in].message : 0);
}

const struct cgx_stage_ops cgx_ring = {.first_send = first_send,
                                       .rounds = rounds,
                                       .reduce_scatter = reduce_scatter,
                                       .sum = sum,
                                       .allgather = allgather};
