/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/stages.h"

#include "coll/stage.h"
#include "util/trace.h"

/* ---- which stages there are ---- */

static struct cgx_stage inner_stage(const struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    const struct cgx_nodes *nodes = schedule->nodes;

    return (struct cgx_stage){.is_first = true,
                              .size = nodes->first[slice->node + 1] - nodes->first[slice->node],
                              .self = slice->local,
                              .nblocks = schedule->shards,
                              .blocks = schedule->raw ? slice->raw_shards : slice->shards,
                              .incoming = slice->inner_incoming};
}

/* Of a rank that owns a shard, behind INNER. */
static struct cgx_stage cross_stage(const struct cgx_slice *slice, const struct cgx_stage *inner)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;

    return (struct cgx_stage){.is_cross = true,
                              .is_first = inner->size == 1,
                              .size = nodes->nodes,
                              .self = slice->node,
                              .nblocks = nodes->nodes,
                              .blocks = slice->parts + (size_t)slice->local * nodes->nodes,
                              .incoming = slice->cross_incoming};
}

static const struct cgx_stage_ops *ops_of(const struct cgx_slice *slice,
                                          const struct cgx_stage *stage)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;

    return (stage->is_cross ? schedule->cross : schedule->inner) == CGX_REDUCTION_RING ? &cgx_ring
                                                                                       : &cgx_sra;
}

static bool is_cross(enum cgx_phase phase)
{
    return phase == CGX_PHASE_SCATTER_BETWEEN || phase == CGX_PHASE_GATHER_BETWEEN;
}

/* What is encoded from the input, in the first stage. */
static struct cgx_block first_send_of(const struct cgx_slice *slice)
{
    const struct cgx_stage *first = slice->inner.size > 1 ? &slice->inner : &slice->cross;

    return first->size > 1 ? ops_of(slice, first)->first_send(first) : (struct cgx_block){0};
}

/* ---- phases ---- */

/* Numbers of messages in a slice: what stages of up to so many members need, twice. */
static unsigned seq_of(const struct cgx_slice *slice)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;
    const unsigned before[CGX_PHASES] = {[CGX_PHASE_SCATTER_BETWEEN] = nodes->most,
                                         [CGX_PHASE_GATHER_BETWEEN] = nodes->most + nodes->nodes,
                                         [CGX_PHASE_GATHER_INSIDE] =
                                             nodes->most + 2 * nodes->nodes};

    return slice->number * 2 * (nodes->most + nodes->nodes) + before[slice->phase] + slice->round;
}

/* Of an owner, which has all that is brought to its part. */
static void sum_own(struct cgx_slice *slice)
{
    const struct cgx_block *own = cgx_slice_own(slice);
    /* Overflow bounds may change the sum on the host. */
    bool stays = slice->cross.size == 1 && !slice->coll->schedule->bounded;

    cgx_slice_reduce(slice, own, cgx_stage_list(slice, own, 0), false,
                     stays ? CGX_REACH_NODE : CGX_REACH_ALL);
}

/* A stage of a single member has nothing to exchange. */
static void enter(struct cgx_slice *slice, enum cgx_phase phase)
{
    struct cgx_stage *stage = is_cross(phase) ? &slice->cross : &slice->inner;

    slice->phase = phase;
    slice->round = slice->rounds = 0;
    if (phase == CGX_PHASES || stage->size < 2)
        return;
    slice->rounds = ops_of(slice, stage)->rounds(stage);
    if (cgx_slice_is_early(slice) && !stage->is_first) {
        struct cgx_block first_send = ops_of(slice, stage)->first_send(stage);

        cgx_stage_sum(slice, stage, &first_send, 0);
    }
    if (phase == CGX_PHASE_GATHER_INSIDE)
        stage->blocks = slice->shards;
    slice->phase_begun = cgx_trace_now();
}

static void leave(struct cgx_slice *slice)
{
    static const enum cgx_trace_kind kinds[CGX_PHASES] = {
        [CGX_PHASE_SCATTER_INSIDE] = CGX_TRACE_REDUCE_SCATTER_INSIDE,
        [CGX_PHASE_SCATTER_BETWEEN] = CGX_TRACE_REDUCE_SCATTER_BETWEEN,
        [CGX_PHASE_GATHER_BETWEEN] = CGX_TRACE_ALLGATHER_BETWEEN,
        [CGX_PHASE_GATHER_INSIDE] = CGX_TRACE_ALLGATHER_INSIDE};

    if (slice->rounds > 0)
        cgx_trace_span(kinds[slice->phase], slice->phase_begun, slice->number, slice->slot_number);
    if (slice->phase == CGX_PHASE_ENCODE) {
        struct cgx_block first_send = first_send_of(slice);

        cgx_slice_settle(slice, &first_send);
        slice->operands = cgx_operands_start(slice->coll->scratch->operands);
    } else if (slice->phase == CGX_PHASE_SCATTER_BETWEEN && slice->owns) {
        sum_own(slice);
    } else if (slice->phase == CGX_PHASE_GATHER_BETWEEN && slice->owns) {
        cgx_slice_publish(slice);
    }
}

/* ---- exchanges ---- */

static enum cgx_status post(struct cgx_slice *slice)
{
    const struct cgx_stage *stage = is_cross(slice->phase) ? &slice->cross : &slice->inner;
    const struct cgx_stage_ops *ops = ops_of(slice, stage);

    slice->seq = seq_of(slice);
    (cgx_slice_is_early(slice) ? ops->scatter : ops->gather)(slice, stage, slice->round);
    slice->posted = true;
    return cgx_slice_post(slice);
}

static enum cgx_status poll(struct cgx_slice *slice)
{
    const struct cgx_stage *stage = is_cross(slice->phase) ? &slice->cross : &slice->inner;
    bool complete;
    enum cgx_status status = cgx_slice_poll(slice, &complete);

    if (status != CGX_OK || !complete)
        return status;
    slice->posted = false;
    if (cgx_slice_is_early(slice))
        ops_of(slice, stage)->sum(slice, stage, slice->round);
    slice->round++;
    return CGX_OK;
}

/* ---- a slice ---- */

void cgx_stages_start(struct cgx_slice *slice)
{
    struct cgx_block first_send;

    slice->inner = inner_stage(slice);
    if (slice->owns)
        slice->cross = cross_stage(slice, &slice->inner);
    first_send = first_send_of(slice);
    cgx_slice_encode(slice, &first_send, slice->inner.size > 1 ? CGX_REACH_NODE : CGX_REACH_ALL);
}

enum cgx_status cgx_stages_poll(struct cgx_slice *slice, bool *complete)
{
    enum cgx_status status = slice->posted ? poll(slice) : CGX_OK;

    while (status == CGX_OK && !slice->posted && slice->phase < CGX_PHASES) {
        if (slice->round < slice->rounds) {
            status = post(slice);
        } else {
            leave(slice);
            enter(slice, slice->phase + 1);
        }
    }
    *complete = slice->phase == CGX_PHASES;
    return status;
}
