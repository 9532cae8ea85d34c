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

/* The stages of SLICE; one of a single member has nothing to do. */
struct stages {
    struct cgx_stage inner, cross;
};

static struct stages stages_of(const struct cgx_slice *slice)
{
    struct stages stages = {.inner = inner_stage(slice)};

    if (slice->owns)
        stages.cross = cross_stage(slice, &stages.inner);
    return stages;
}

/* What is encoded from the input, in the first stage. */
static struct cgx_block first_send_of(const struct cgx_slice *slice, const struct stages *stages)
{
    if (stages->inner.size > 1)
        return ops_of(slice, &stages->inner)->first_send(&stages->inner);
    if (stages->cross.size > 1)
        return ops_of(slice, &stages->cross)->first_send(&stages->cross);
    return (struct cgx_block){0};
}

/* ---- a slice ---- */

/* Numbers of messages in a slice: what stages of up to so many members need, twice. */
static unsigned seq_of(const struct cgx_slice *slice, unsigned stages_before)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;
    const unsigned before[] = {0, nodes->most, nodes->most + nodes->nodes,
                               nodes->most + 2 * nodes->nodes};

    return slice->number * 2 * (nodes->most + nodes->nodes) + before[stages_before];
}

static enum cgx_status reduce_scatter(struct cgx_slice *slice, struct cgx_stage *stage,
                                      unsigned number)
{
    const struct cgx_stage_ops *ops = ops_of(slice, stage);
    enum cgx_status status;
    int64_t begun;

    if (stage->size < 2)
        return CGX_OK;
    stage->seq = seq_of(slice, number);
    if (!stage->is_first) {
        struct cgx_block first_send = ops->first_send(stage);

        cgx_stage_sum(slice, stage, &first_send, 0);
    }
    begun = cgx_trace_now();
    status = ops->reduce_scatter(slice, stage);
    cgx_trace_span(stage->is_cross ? CGX_TRACE_REDUCE_SCATTER_BETWEEN
                                   : CGX_TRACE_REDUCE_SCATTER_INSIDE,
                   begun, slice->number, slice->slot_number);
    return status;
}

static enum cgx_status allgather(struct cgx_slice *slice, struct cgx_stage *stage, unsigned number)
{
    int64_t begun = cgx_trace_now();
    enum cgx_status status;

    if (stage->size < 2)
        return CGX_OK;
    if (!stage->is_cross)
        stage->blocks = slice->shards;
    stage->seq = seq_of(slice, number);
    status = ops_of(slice, stage)->allgather(slice, stage);
    cgx_trace_span(stage->is_cross ? CGX_TRACE_ALLGATHER_BETWEEN : CGX_TRACE_ALLGATHER_INSIDE,
                   begun, slice->number, slice->slot_number);
    return status;
}

/* Of an owner: from what its node brings to its shard to the sum of the shard. */
static enum cgx_status sum_shard(struct cgx_slice *slice, struct cgx_stage *cross)
{
    const struct cgx_block *own = cgx_slice_own(slice);
    /* Overflow bounds may change the sum on the host. */
    bool stays = cross->size == 1 && !slice->coll->schedule->bounded;
    enum cgx_status status = reduce_scatter(slice, cross, 1);

    if (status != CGX_OK)
        return status;
    cgx_slice_reduce(slice, own, cgx_stage_list(slice, own, 0), false,
                     stays ? CGX_REACH_NODE : CGX_REACH_ALL);
    status = allgather(slice, cross, 2);
    if (status == CGX_OK)
        cgx_slice_publish(slice);
    return status;
}

void cgx_stages_start(struct cgx_slice *slice)
{
    struct stages stages = stages_of(slice);
    struct cgx_block first_send = first_send_of(slice, &stages);

    cgx_slice_encode(slice, &first_send, stages.inner.size > 1 ? CGX_REACH_NODE : CGX_REACH_ALL);
}

enum cgx_status cgx_stages_run(struct cgx_slice *slice)
{
    struct stages stages = stages_of(slice);
    struct cgx_block first_send = first_send_of(slice, &stages);
    enum cgx_status status;

    cgx_slice_settle(slice, &first_send);
    slice->operands = cgx_operands_start(slice->coll->scratch->operands);
    status = reduce_scatter(slice, &stages.inner, 0);
    if (status == CGX_OK && slice->owns)
        status = sum_shard(slice, &stages.cross);
    if (status == CGX_OK)
        status = allgather(slice, &stages.inner, 3);
    return status;
}
