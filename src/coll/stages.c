/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/stage.h"

#include "util/trace.h"

/* ---- stages ---- */

static struct cgx_stage node_stage(const struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    const struct cgx_nodes *nodes = schedule->nodes;

    return (struct cgx_stage){.size = nodes->first[slice->node + 1] - nodes->first[slice->node],
                              .self = slice->local,
                              .nblocks = schedule->shards,
                              .blocks = slice->shards};
}

/* Only for ranks that own a shard. */
static struct cgx_stage row_stage(const struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;

    return (struct cgx_stage){.size = cgx_node_grid_length(&schedule->grid, slice->row),
                              .self = slice->column,
                              .nblocks = schedule->grid.columns,
                              .blocks = slice->columns};
}

/* Only for ranks that own a chunk. */
static struct cgx_stage column_stage(const struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    unsigned first = cgx_schedule_chunk(schedule, slice->local, slice->column, 0);

    return (struct cgx_stage){.size = schedule->grid.rows,
                              .self = slice->row,
                              .nblocks = schedule->grid.rows,
                              .blocks = slice->parts + first};
}

/* Stages in which this rank takes no part keep size 0. */
static void set_stages(struct cgx_slice *slice)
{
    bool is_first = true;

    slice->stages[CGX_LEVEL_NODE] = node_stage(slice);
    if (slice->is_shard_owner)
        slice->stages[CGX_LEVEL_ROW] = row_stage(slice);
    if (slice->is_owner)
        slice->stages[CGX_LEVEL_COLUMN] = column_stage(slice);
    for (int level = 0; level < CGX_LEVELS; level++) {
        struct cgx_stage *stage = &slice->stages[level];

        stage->level = (enum cgx_level)level;
        stage->incoming = slice->incoming[level];
        stage->is_first = is_first;
        is_first = is_first && stage->size < 2;
    }
}

/* The stage of PHASE, which is not CGX_PHASE_ENCODE. */
static struct cgx_stage *stage_of(struct cgx_slice *slice, enum cgx_phase phase)
{
    static const enum cgx_level levels[CGX_PHASES] = {
        [CGX_PHASE_REDUCE_SCATTER_INTRA] = CGX_LEVEL_NODE,
        [CGX_PHASE_ALLGATHER_INTRA] = CGX_LEVEL_NODE,
        [CGX_PHASE_REDUCE_SCATTER_ROW] = CGX_LEVEL_ROW,
        [CGX_PHASE_ALLGATHER_ROW] = CGX_LEVEL_ROW,
        [CGX_PHASE_REDUCE_SCATTER_COLUMN] = CGX_LEVEL_COLUMN,
        [CGX_PHASE_ALLGATHER_COLUMN] = CGX_LEVEL_COLUMN};

    return &slice->stages[levels[phase]];
}

/* This rank's first stage; NULL: it has none. */
static const struct cgx_stage *first_stage(const struct cgx_slice *slice)
{
    int level = 0;

    while (level < CGX_LEVELS && slice->stages[level].size < 2)
        level++;
    return level < CGX_LEVELS ? &slice->stages[level] : NULL;
}

/* ---- phases ---- */

/* Forms the final sum of the owner's part from all contributions. */
static void sum_own_part(struct cgx_slice *slice)
{
    const struct cgx_block *own_part = cgx_slice_own_part(slice);

    cgx_slice_reduce(slice, own_part, cgx_stage_list(slice, own_part, 0), CGX_LEVEL_RESULT);
}

/* Enters PHASE; a stage of a single member has no exchange. */
static void enter(struct cgx_slice *slice, enum cgx_phase phase)
{
    struct cgx_stage *stage;

    slice->phase = phase;
    slice->waits = false;
    if (phase == CGX_PHASES)
        return;
    stage = stage_of(slice, phase);
    if (stage->size < 2)
        return;
    slice->waits = true;
    if (cgx_slice_is_early(slice) && !stage->is_first) {
        struct cgx_block first_send = cgx_sra_first_send(stage);

        cgx_stage_sum(slice, stage, &first_send, 0);
    }
    slice->phase_begun = cgx_trace_now();
}

static void trace(const struct cgx_slice *slice)
{
    static const enum cgx_trace_kind kinds[CGX_PHASES] = {
        [CGX_PHASE_REDUCE_SCATTER_INTRA] = CGX_TRACE_REDUCE_SCATTER_INTRA,
        [CGX_PHASE_REDUCE_SCATTER_ROW] = CGX_TRACE_REDUCE_SCATTER_INTER,
        [CGX_PHASE_REDUCE_SCATTER_COLUMN] = CGX_TRACE_REDUCE_SCATTER_INTER,
        [CGX_PHASE_ALLGATHER_COLUMN] = CGX_TRACE_ALLGATHER_INTER,
        [CGX_PHASE_ALLGATHER_ROW] = CGX_TRACE_ALLGATHER_INTER,
        [CGX_PHASE_ALLGATHER_INTRA] = CGX_TRACE_ALLGATHER_INTRA};

    cgx_trace_span(kinds[slice->phase], slice->phase_begun, slice->number, slice->slot_number);
}

static void leave(struct cgx_slice *slice)
{
    if (slice->phase == CGX_PHASE_ENCODE) {
        const struct cgx_stage *stage = first_stage(slice);
        struct cgx_block first_send = {0};

        if (stage)
            first_send = cgx_sra_first_send(stage);
        cgx_slice_settle(slice, &first_send);
        slice->operands = cgx_operands_start(slice->coll->scratch->operands);
    } else if (slice->phase == CGX_PHASE_REDUCE_SCATTER_COLUMN && slice->is_owner) {
        sum_own_part(slice);
    } else if (slice->phase == CGX_PHASE_ALLGATHER_ROW && slice->is_shard_owner) {
        cgx_slice_publish(slice);
    }
}

/* ---- exchanges ---- */

static enum cgx_status post(struct cgx_slice *slice)
{
    const struct cgx_stage *stage = stage_of(slice, slice->phase);

    slice->seq = slice->number * CGX_PHASES + (unsigned)slice->phase;
    (cgx_slice_is_early(slice) ? cgx_sra_reduce_scatter : cgx_sra_allgather)(slice, stage);
    slice->posted = true;
    return cgx_slice_post(slice);
}

/* Holds the call if all peers of the first exchange bring what this rank brings: gradients of other
 * data are not so alike. */
static void compare_sketches(struct cgx_slice *slice)
{
    if (slice->vote != CGX_ABLE || slice->heard == 0 || slice->agreeing < slice->heard)
        return;
    slice->held = slice->alike = true;
    cgx_slice_decline(slice, CGX_DECLINED);
}

static enum cgx_status poll(struct cgx_slice *slice)
{
    const struct cgx_stage *stage = stage_of(slice, slice->phase);
    bool complete;
    enum cgx_status status = cgx_slice_poll(slice, &complete);

    if (status != CGX_OK || !complete)
        return status;
    slice->posted = slice->waits = false;
    if (stage->is_first && slice->number == 0 && cgx_slice_is_early(slice))
        compare_sketches(slice);
    if (cgx_slice_is_early(slice))
        cgx_sra_sum(slice, stage);
    trace(slice);
    return CGX_OK;
}

/* ---- a slice ---- */

void cgx_stages_start(struct cgx_slice *slice)
{
    const struct cgx_stage *stage;
    struct cgx_block first_send;

    set_stages(slice);
    stage = first_stage(slice);
    if (!stage)
        return;
    first_send = cgx_sra_first_send(stage);
    cgx_slice_encode(slice, &first_send, stage->level);
}

enum cgx_status cgx_stages_poll(struct cgx_slice *slice, bool *complete)
{
    enum cgx_status status = slice->posted ? poll(slice) : CGX_OK;

    while (status == CGX_OK && !slice->posted && slice->phase < CGX_PHASES) {
        if (slice->waits) {
            status = post(slice);
        } else {
            leave(slice);
            enter(slice, slice->phase + 1);
        }
    }
    *complete = slice->phase == CGX_PHASES;
    return status;
}
