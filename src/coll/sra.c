/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* SRA: every member sends its part of each unit to the unit's owner, who has them all to sum at
 * once, and then sends the sum to all. */
#include "coll/stage.h"

/* The foreign units, which lie together. */
static struct cgx_unit first_send(const struct cgx_stage *stage)
{
    struct cgx_unit run = {0};

    for (unsigned i = 0; i < stage->nunits; i++) {
        const struct cgx_unit *unit = &stage->units[i];

        if (i == stage->self)
            continue;
        if (i == (stage->self == 0 ? 1 : 0))
            run = *unit;
        run.bytes = unit->message + unit->bytes - run.message;
        run.npieces = unit->first_piece + unit->npieces - run.first_piece;
    }
    return run;
}

static enum cgx_status reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    const struct cgx_unit *own = stage->self < stage->nunits ? &stage->units[stage->self] : NULL;
    size_t extent = own ? CGX_MESSAGE_HEADER_BYTES + own->bytes : 0;
    size_t count = 0, arrived = 0;
    enum cgx_status status;

    for (unsigned member = 0; member < stage->size; member++) {
        unsigned peer = cgx_stage_rank(slice, stage, member);

        if (member == stage->self)
            continue;
        if (own)
            cgx_slice_receive(slice, count++, peer, own, stage->incoming + arrived++ * extent);
        if (member < stage->nunits)
            cgx_slice_send(slice, count++, peer, &stage->units[member], stage->step);
    }
    status = cgx_slice_exchange(slice, count, stage->step, true);
    if (status != CGX_OK || !own)
        return status;
    cgx_stage_store(slice, stage, stage->incoming, arrived * extent);
    cgx_operands_rebase(&slice->operands, own->message);
    cgx_operands_surround(&slice->operands, slice->lane->staging + stage->incoming, extent,
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
        if (member < stage->nunits)
            cgx_slice_receive(slice, count++, peer, &stage->units[member],
                              stage->units[member].message);
        if (stage->self < stage->nunits)
            cgx_slice_send(slice, count++, peer, &stage->units[stage->self], stage->step);
    }
    return cgx_slice_exchange(slice, count, stage->step, false);
}

const struct cgx_stage_ops cgx_sra = {
    .first_send = first_send, .reduce_scatter = reduce_scatter, .allgather = allgather};
