/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How a sum is formed: the algorithm, the number of slices, and the memory it needs. */
#ifndef CGX_COLL_SCHEDULE_H
#define CGX_COLL_SCHEDULE_H

#include <limits.h>

#include "policy/cost.h"
#include "policy/plan.h"
#include "topo/nodes.h"

/* Nodes in rows whose lengths differ by at most one. The nodes of a row, one per column, form sums
 * of their inputs; then the nodes of a column form the sums of all rows. In a row that is longer
 * than others the last node has no column. With one row there is no grid: its nodes form the final
 * sums. */
struct cgx_node_grid {
    unsigned nodes, rows;
    unsigned columns; /* nodes that every row has */
};

/* Arranges NODES in ROWS, each of at least one node. */
static inline struct cgx_node_grid cgx_node_grid_of(unsigned nodes, unsigned rows)
{
    return (struct cgx_node_grid){nodes, rows, nodes / rows};
}

/* Nodes of the longest row. */
static inline unsigned cgx_node_grid_longest(const struct cgx_node_grid *grid)
{
    return (grid->nodes + grid->rows - 1) / grid->rows;
}

/* The first node of ROW; for ROW = rows, the number of nodes. */
static inline unsigned cgx_node_grid_first(const struct cgx_node_grid *grid, unsigned row)
{
    return (unsigned)((uint64_t)row * grid->nodes / grid->rows);
}

static inline unsigned cgx_node_grid_length(const struct cgx_node_grid *grid, unsigned row)
{
    return cgx_node_grid_first(grid, row + 1) - cgx_node_grid_first(grid, row);
}

/* The row of NODE. */
static inline unsigned cgx_node_grid_row(const struct cgx_node_grid *grid, unsigned node)
{
    return (unsigned)((((uint64_t)node + 1) * grid->rows - 1) / grid->nodes);
}

/* The stages of a sum (stage.h): their members are the ranks of a node, or a rank of each node in a
 * row or column of the grid. Results are quantised after the last one. */
enum cgx_level {
    CGX_LEVEL_NODE,
    CGX_LEVEL_ROW,
    CGX_LEVEL_COLUMN,
    CGX_LEVELS,
    CGX_LEVEL_RESULT = CGX_LEVELS
};

/* The memory that a call needs. */
struct cgx_needs {
    size_t slots;   /* 1 or CGX_SLOTS */
    size_t staging; /* bytes of each slot */
    size_t pieces;  /* of each slot */
    size_t blocks;  /* of each slot */
    size_t sources; /* of one sum, at most */
    size_t packed;  /* bytes for packed messages (codec/packing.h) */
    size_t transfers;
};

/* The maximum of each need. */
struct cgx_needs cgx_needs_most(const struct cgx_needs *a, const struct cgx_needs *b);

/* Whether memory reserved for RESERVED suffices for NEEDS. */
bool cgx_needs_fit(const struct cgx_needs *needs, const struct cgx_needs *reserved);

/* How the sums of a communicator are formed. */
struct cgx_scheme {
    const struct cgx_nodes *nodes;
    const struct cgx_nodes *flat; /* the same ranks, each as its own node */
    bool leaders;                 /* one rank of each node exchanges data with other nodes */
    enum cgx_reduction inter;     /* between nodes */
    struct cgx_network network;   /* between nodes */
};

/* What all calls with one plan on one communicator share.
 *
 * The buffer is cut into shards, one for each of the first members of every node: as many as the
 * smallest node has ranks, or one with leaders. A shard is cut into columns, those of the node
 * grid, and a column into chunks, one per row. Without a grid there is one row, and a column per
 * node. */
struct cgx_schedule {
    struct cgx_plan plan;
    const struct cgx_nodes *nodes;
    unsigned ranks;
    unsigned shards;
    struct cgx_node_grid grid;  /* of the nodes */
    struct cgx_network network; /* between nodes */
    unsigned slices;
    uint32_t hash; /* of all of this, sent in every message */
    struct cgx_needs needs;
};

static inline unsigned cgx_schedule_chunks(const struct cgx_schedule *schedule)
{
    return schedule->shards * schedule->grid.columns * schedule->grid.rows;
}

static inline unsigned cgx_schedule_chunk(const struct cgx_schedule *schedule, unsigned shard,
                                          unsigned column, unsigned row)
{
    return (shard * schedule->grid.columns + column) * schedule->grid.rows + row;
}

/* The chunk that RANK owns; CGX_NO_CHUNK if it owns none. */
#define CGX_NO_CHUNK UINT_MAX
unsigned cgx_schedule_chunk_of(const struct cgx_schedule *schedule, unsigned rank);

/* Sets PAYLOADS to the number of payloads of each level, and of results, that contain an element:
 * in each sum those of all members but its owner, whose contribution stays as it is. */
void cgx_schedule_payloads(const struct cgx_schedule *schedule,
                           unsigned payloads[CGX_LEVEL_RESULT + 1]);

/* The schedule of calls with PLAN. STAGING: the most bytes of staging memory on the host that a
 * call may use; a device backend uses as much on the device. Uses less if that keeps links busier,
 * and more if even parts of two units need more. Falls back to flat SRA if sums of several stages
 * could exceed the error bound. PLAN's layers and SCHEME's nodes must outlive the schedule. */
struct cgx_schedule cgx_coll_schedule(const struct cgx_plan *plan, const struct cgx_scheme *scheme,
                                      size_t staging);

#endif
