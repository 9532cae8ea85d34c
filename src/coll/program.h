/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An all-reduce as a program of a rank: rounds, each of which forms a sum and then exchanges
 * messages. A program follows from the rank's place among its nodes alone; calls of all sizes share
 * it. Its words:
 *
 *   chunk   what one rank owns, and sums. The buffer is cut into shards, one for each of the first
 *           members of every node: as many as the smallest node has ranks, or one with leaders. A
 *           shard is cut into columns, those of the node grid, and a column into chunks, one a row.
 *   part    a chunk's share of a slice.
 *   place   where a rank keeps a part, in an order of its own: other shards first, its own last; in
 *           a shard other columns first; in a column other rows first. So the parts of every
 *           message and of every sum are at adjacent places, and the rank's own part is the last.
 *   block   the parts at a run of places.
 *   level   ranks that exchange blocks with each other: those of a node, or those with the same
 *           shard of the nodes in a row, or in a column, of the grid.
 *   round   scatters or gathers at one level. The rounds first scatter, level by level: every
 *           member sends its sum of each block to the block's owner, who adds up what arrives. Then
 *           they gather, in reverse order: every owner sends its results to all members.
 *
 * With one node, or a rank on each node and no grid, that is two rounds: torch_cgx's
 * scatter-reduce-allgather. An element is quantised as an input, as the sum of a node, as that of a
 * row and as a result: three times at most without a grid. Sums are in float32, in rank order
 * inside a node, then node by node, row by row. */
#ifndef CGX_COLL_PROGRAM_H
#define CGX_COLL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topo/nodes.h"

/* How a communicator's sums are arranged. Nodes stand in rows whose lengths differ by at most one;
 * in a row that is longer than others the last node has no column. With one row there is no grid.
 */
struct cgx_shape {
    const struct cgx_nodes *nodes;
    unsigned rows, columns; /* as many columns as every row has nodes */
    unsigned shards;
};

/* The first node of ROW; for ROW = rows, the number of nodes. */
static inline unsigned cgx_shape_first(const struct cgx_shape *shape, unsigned row)
{
    return (unsigned)((uint64_t)row * shape->nodes->nodes / shape->rows);
}

static inline unsigned cgx_shape_length(const struct cgx_shape *shape, unsigned row)
{
    return cgx_shape_first(shape, row + 1) - cgx_shape_first(shape, row);
}

static inline unsigned cgx_shape_longest(const struct cgx_shape *shape)
{
    return (shape->nodes->nodes + shape->rows - 1) / shape->rows;
}

static inline unsigned cgx_shape_row(const struct cgx_shape *shape, unsigned node)
{
    return (unsigned)((((uint64_t)node + 1) * shape->rows - 1) / shape->nodes->nodes);
}

static inline unsigned cgx_shape_chunks(const struct cgx_shape *shape)
{
    return shape->shards * shape->columns * shape->rows;
}

/* ---- programs ---- */

/* The parts at places [first, end). */
struct cgx_block {
    uint32_t first, end;
};

static inline bool cgx_block_is_empty(struct cgx_block block)
{
    return block.first == block.end;
}

/* The kind of a level. RESULT stands for sums that are results. */
enum cgx_level_kind {
    CGX_LEVEL_NODE,
    CGX_LEVEL_ROW,
    CGX_LEVEL_COLUMN,
    CGX_LEVELS,
    CGX_LEVEL_RESULT = CGX_LEVELS
};

/* The first BLOCKS members own a block each, of STRIDE places; all blocks begin at place BASE. */
struct cgx_level {
    /* Number of members, and this rank's number among them. Below 2 members there is no exchange.
     */
    unsigned size, self;
    unsigned blocks;
    uint32_t base, stride;
    enum cgx_level_kind kind;
};

/* Before round r of LEVELS the rank sums what it has for others at level r. The last sum, before
 * results are gathered, is that of its own part. */
struct cgx_program {
    struct cgx_shape shape;
    unsigned node, local, row, column;
    /* Numbers of levels and of rounds: twice as many, or one round for a single rank. */
    unsigned levels, rounds;
    struct cgx_level level[CGX_LEVELS];
    unsigned start; /* the round whose sum needs nothing but the caller's elements */
    uint32_t parts;
    uint32_t shard; /* the first place of this rank's shard; PARTS if it has no shard */
    bool owns;      /* this rank owns a part, at the last place */
};

struct cgx_program cgx_program_of(const struct cgx_shape *shape, unsigned rank);

uint32_t cgx_program_chunk(const struct cgx_program *program, uint32_t place);

/* The block that is summed before the messages of ROUND; empty: nothing is summed. */
struct cgx_block cgx_program_sum(const struct cgx_program *program, unsigned round);

/* The block that arrives in ROUND for later sums, a copy from each other member, in the order of
 * members. The copies of the SELF members before this rank come before this rank's own elements in
 * the sum, the others behind them. */
struct cgx_block cgx_program_input(const struct cgx_program *program, unsigned round);

struct cgx_program_message {
    bool sends;
    unsigned peer;
    struct cgx_block block; /* empty: there is no message */
    unsigned copy;          /* number of the copy that is received; unused in gathering rounds */
};

/* Message INDEX of ROUND; INDEX is below twice the level's size - 2. No two members begin with the
 * same message, and messages arrive roughly in the order of their receives. */
struct cgx_program_message cgx_program_message(const struct cgx_program *program, unsigned round,
                                               unsigned index);

/* Whether ROUND gathers results, so that a flag in its messages does not reach all ranks any more.
 */
static inline bool cgx_program_gathers(const struct cgx_program *program, unsigned round)
{
    return round >= program->levels;
}

static inline const struct cgx_level *cgx_program_level(const struct cgx_program *program,
                                                        unsigned round)
{
    return &program->level[cgx_program_gathers(program, round) ? 2 * program->levels - 1 - round
                                                               : round];
}

#endif
