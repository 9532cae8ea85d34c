/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ring: partial sums of a block travel from the member after its owner round to the owner, each
 * member adding what it brings, and the sum travels round once more, verbatim. Sums are in cyclic
 * order. Each member quantises once more, so that the error is that of steps which grow along the
 * way. */
#include "coll/stage.h"

/* The member BACK places before this one. */
static unsigned before(const struct cgx_stage *stage, unsigned back)
{
    return (stage->self + 2 * stage->size - back) % stage->size;
}

/* Sends block OUT to the next member and receives block IN from the one before at offset AT, as far
 * as there are such blocks. */
static enum cgx_status pass_on(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned out,
                               unsigned in, size_t at, unsigned seq, bool early)
{
    size_t count = 0;

    if (in < stage->nblocks)
        cgx_slice_receive(slice, count++, cgx_stage_rank(slice, stage, before(stage, 1)),
                          &stage->blocks[in], at);
    if (out < stage->nblocks)
        cgx_slice_send(slice, count++,
                       cgx_stage_rank(slice, stage, (stage->self + 1) % stage->size),
                       &stage->blocks[out], seq);
    return cgx_slice_exchange(slice, count, seq, early);
}

static struct cgx_block first_send(const struct cgx_stage *stage)
{
    unsigned block = before(stage, 1);

    return block < stage->nblocks ? stage->blocks[block] : (struct cgx_block){0};
}

static enum cgx_status reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    for (unsigned t = 0; t + 1 < stage->size; t++) {
        unsigned in = before(stage, t + 2);
        enum cgx_status status =
            pass_on(slice, stage, before(stage, t + 1), in, stage->incoming, stage->seq + t, true);

        if (status != CGX_OK)
            return status;
        if (in >= stage->nblocks)
            continue;
        cgx_stage_store(slice, stage, stage->incoming,
                        CGX_MESSAGE_HEADER_BYTES + stage->blocks[in].bytes);
        if (in == stage->self) {
            cgx_operands_rebase(&slice->operands, stage->blocks[in].message);
            cgx_operands_prepend(&slice->operands, slice->slot->staging + stage->incoming);
        } else {
            slice->coll->scratch->sources[0] = slice->slot->staging + stage->incoming;
            cgx_stage_sum(slice, stage, &stage->blocks[in], 1);
        }
    }
    return CGX_OK;
}

static enum cgx_status allgather(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    enum cgx_status status = CGX_OK;

    for (unsigned t = 0; status == CGX_OK && t + 1 < stage->size; t++) {
        unsigned in = before(stage, t + 1);

        status =
            pass_on(slice, stage, before(stage, t), in,
                    in < stage->nblocks ? stage->blocks[in].message : 0, stage->seq + t, false);
    }
    return status;
}

const struct cgx_stage_ops cgx_ring = {
    .first_send = first_send, .reduce_scatter = reduce_scatter, .allgather = allgather};
