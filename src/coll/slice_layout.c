/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/scratch.h"

#include "codec/encoding.h"
#include "coll/split.h"
#include "util/integers.h"

/* Lays out the part of CHUNK at the present end of the slice. */
static void lay_part(struct cgx_slice *slice, unsigned chunk)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    const struct cgx_plan *plan = &schedule->plan;
    struct cgx_slot *slot = slice->slot;
    struct cgx_element_range range = cgx_split_part(plan, cgx_schedule_chunks(schedule), chunk,
                                                    schedule->slices, slice->number, &slice->near);
    size_t payload = slice->end + CGX_MESSAGE_HEADER_BYTES;
    struct cgx_block *part = &slot->blocks[chunk];

    *part = (struct cgx_block){.message = slice->end, .first_piece = slice->pieces};
    part->npieces =
        cgx_split_pieces(plan, range, payload, slot->pieces + slice->pieces, &slice->end);
    part->bytes = slice->end - payload;
    slice->pieces += part->npieces;
}

static struct cgx_block begin_block(const struct cgx_slice *slice)
{
    return (struct cgx_block){.message = slice->end, .first_piece = slice->pieces};
}

static void end_block(const struct cgx_slice *slice, struct cgx_block *block)
{
    block->npieces = slice->pieces - block->first_piece;
    block->bytes = slice->end - block->message - CGX_MESSAGE_HEADER_BYTES;
}

/* Lays out a column, the part of the own row last. All nodes of a row lay it out alike. */
static struct cgx_block lay_column(struct cgx_slice *slice, unsigned shard, unsigned column)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    struct cgx_block whole = begin_block(slice);

    for (unsigned row = 0; row < schedule->grid.rows; row++) {
        if (row != slice->row)
            lay_part(slice, cgx_schedule_chunk(schedule, shard, column, row));
    }
    lay_part(slice, cgx_schedule_chunk(schedule, shard, column, slice->row));
    end_block(slice, &whole);
    return whole;
}

/* Lays out a shard, the own column last. All ranks of a node lay it out alike. Each shard
 * overwrites the columns of the one before, so that those of the own shard, the last, remain. */
static void lay_shard(struct cgx_slice *slice, unsigned shard)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    unsigned chunks = cgx_schedule_chunks(schedule), count = schedule->grid.columns;
    struct cgx_block *columns = slice->slot->blocks + chunks + schedule->shards;
    struct cgx_block whole = begin_block(slice);

    for (unsigned column = 0; column < count; column++) {
        if (column != slice->column)
            columns[column] = lay_column(slice, shard, column);
    }
    if (slice->column < count)
        columns[slice->column] = lay_column(slice, shard, slice->column);
    end_block(slice, &whole);
    slice->slot->blocks[chunks + shard] = whole;
}

/* Lays out the own shard. If local peers decode it in place (slice_pull.c), they may still do so
 * while this rank encodes the next slice of the slot, so nothing else of that slice may lie there.
 * The own shard therefore ends where the memory for the largest slice ends, which nothing else
 * reaches. */
static void lay_own_shard(struct cgx_slice *slice)
{
    size_t begin = slice->end, pieces = slice->pieces, most = slice->coll->schedule->needs.staging;

    lay_shard(slice, slice->local);
    if (slice->pull != CGX_PULL_DEVICE)
        return;
    slice->pieces = pieces;
    slice->end = most / CGX_PIECE_ALIGNMENT * CGX_PIECE_ALIGNMENT - (slice->end - begin);
    lay_shard(slice, slice->local);
    slice->end = begin;
}

/* The most bytes of a message with one of COUNT BLOCKS. */
static size_t longest(const struct cgx_block *blocks, size_t count)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++)
        most = blocks[i].bytes > most ? blocks[i].bytes : most;
    return CGX_MESSAGE_HEADER_BYTES + most;
}

/* Lays out incoming messages from offset AT on. */
static void lay_incoming(struct cgx_slice *slice, size_t at)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    const struct cgx_nodes *nodes = schedule->nodes;
    size_t members = nodes->first[slice->node + 1] - nodes->first[slice->node];

    slice->incoming[CGX_LEVEL_NODE] = at;
    if (slice->is_shard_owner)
        at += (members - 1) * longest(slice->shards, schedule->shards);
    slice->incoming[CGX_LEVEL_ROW] = at;
    if (slice->is_owner)
        at += (cgx_node_grid_length(&schedule->grid, slice->row) - 1) *
              longest(slice->columns, schedule->grid.columns);
    slice->incoming[CGX_LEVEL_COLUMN] = at;
}

/* ---- a slice ---- */

void cgx_slice_begin(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = coll->schedule;
    const struct cgx_plan *plan = &schedule->plan;
    struct cgx_slot *slot = &coll->scratch->slots[number % CGX_SLOTS];
    unsigned node = schedule->nodes->node[coll->rank];
    unsigned local = schedule->nodes->local[coll->rank];
    unsigned members = schedule->nodes->first[node + 1] - schedule->nodes->first[node];
    unsigned chunks = cgx_schedule_chunks(schedule);
    unsigned row = cgx_node_grid_row(&schedule->grid, node);
    unsigned column = node - cgx_node_grid_first(&schedule->grid, row);

    *slice =
        (struct cgx_slice){.coll = coll,
                           .node = node,
                           .local = local,
                           .row = row,
                           .column = column,
                           .vote = coll->vote,
                           .held = coll->state.held,
                           .is_shard_owner = local < schedule->shards,
                           .is_owner = local < schedule->shards && column < schedule->grid.columns,
                           .pull = members == 1 ? CGX_PULL_NONE : coll->pull,
                           .number = number,
                           .slot_number = number % CGX_SLOTS,
                           .slot = slot,
                           .parts = slot->blocks,
                           .shards = slot->blocks + chunks,
                           .columns = slot->blocks + chunks + schedule->shards,
                           .near = cgx_plan_first(plan),
                           .coding = {.dtype = plan->dtype,
                                      .bucket_size = plan->bucket_size,
                                      .call = coll->call,
                                      .turn = coll->turn,
                                      .error = coll->error,
                                      .floor = coll->floor,
                                      .stream = coll->rank}};
    for (unsigned shard = 0; shard < schedule->shards; shard++) {
        if (shard != slice->local)
            lay_shard(slice, shard);
    }
    if (slice->is_shard_owner)
        lay_own_shard(slice);
    lay_incoming(slice, slice->end);
}
