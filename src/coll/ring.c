/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ring: partial sums of a unit travel from the member after its owner round to the owner, each
 * member adding what it brings, and the sum travels round once more, verbatim. Sums are in cyclic
 * order. Each member quantises once more, so that the error is that of steps which grow along the
 * way. */
#include "coll/stage.h"

/* The member BACK places before this one. */
static unsigned before(const struct cgx_stage *stage, unsigned back)
{
    return (stage->self + 2 * stage->size - back) % stage->size;
}

/* Sends unit OUT to the next member and receives unit IN from the one before at offset AT, as far
 * as there are such units. */
static enum cgx_status pass_on(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned out,
                               unsigned in, size_t at, unsigned step, bool early)
{
    size_t count = 0;

    if (in < stage->nunits)
        cgx_slice_receive(slice, count++, cgx_stage_rank(slice, stage, before(stage, 1)),
                          &stage->units[in], at);
    if (out < stage->nunits)
        cgx_slice_send(slice, count++,
                       cgx_stage_rank(slice, stage, (stage->self + 1) % stage->size),
                       &stage->units[out], step);
    return cgx_slice_exchange(slice, count, step, early);
}

static struct cgx_unit first_send(const struct cgx_stage *stage)
{
    unsigned unit = before(stage, 1);

    return unit < stage->nunits ? stage->units[unit] : (struct cgx_unit){0};
}

static enum cgx_status reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    for (unsigned t = 0; t + 1 < stage->size; t++) {
        unsigned in = before(stage, t + 2);
        enum cgx_status status =
            pass_on(slice, stage, before(stage, t + 1), in, stage->incoming, stage->step + t, true);

        if (status != CGX_OK)
            return status;
        if (in >= stage->nunits)
            continue;
        cgx_stage_store(slice, stage, stage->incoming,
                        CGX_MESSAGE_HEADER_BYTES + stage->units[in].bytes);
        if (in == stage->self) {
            cgx_operands_rebase(&slice->operands, stage->units[in].message);
            cgx_operands_prepend(&slice->operands, slice->lane->staging + stage->incoming);
        } else {
            slice->coll->scratch->sources[0] = slice->lane->staging + stage->incoming;
            cgx_stage_sum(slice, stage, &stage->units[in], 1);
        }
    }
    return CGX_OK;
}

static enum cgx_status allgather(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    enum cgx_status status = CGX_OK;

    for (unsigned t = 0; status == CGX_OK && t + 1 < stage->size; t++) {
        unsigned in = before(stage, t + 1);

        status = pass_on(slice, stage, before(stage, t), in,
                         in < stage->nunits ? stage->units[in].message : 0, stage->step + t, false);
    }
    return status;
}

const struct cgx_stage_ops cgx_ring = {
    .first_send = first_send, .reduce_scatter = reduce_scatter, .allgather = allgather};
