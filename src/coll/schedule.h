/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How a sum is formed: which algorithm, in how many slices, and what memory that takes. */
#ifndef CGX_COLL_SCHEDULE_H
#define CGX_COLL_SCHEDULE_H

#include <limits.h>

#include "coll/trailer/trailer.h"
#include "policy/cost.h"
#include "policy/plan.h"
#include "topo/nodes.h"

/* Nodes in rows that are alike in length to one. The nodes of a row, one for each of its columns,
 * form sums of what they bring, and then those of a column the sums of all rows. Where a row is
 * longer than others its last node has no column. One row is no grid: its nodes form the sums. */
struct cgx_node_grid {
    unsigned nodes, rows;
    unsigned columns; /* nodes that every row has */
};

/* ROWS, of at least one of the NODES each. */
static inline struct cgx_node_grid cgx_node_grid_of(unsigned nodes, unsigned rows)
{
    return (struct cgx_node_grid){nodes, rows, nodes / rows};
}

/* The nodes of the longest row. */
static inline unsigned cgx_node_grid_longest(const struct cgx_node_grid *grid)
{
    return (grid->nodes + grid->rows - 1) / grid->rows;
}

/* The first node of ROW; of the row after the last: the number of nodes. */
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

/* The memory that a call works in. */
struct cgx_needs {
    size_t slots;   /* 1 or CGX_SLOTS */
    size_t staging; /* bytes of each slot */
    size_t pieces;  /* of each slot */
    size_t blocks;  /* of each slot */
    size_t shown;   /* ranges of a payload that the host is shown */
    size_t sources; /* the most that one sum has */
    size_t packed;  /* bytes of room for packed messages (codec/packing.h) */
    size_t transfers;
};

/* As much as either. */
struct cgx_needs cgx_needs_most(const struct cgx_needs *a, const struct cgx_needs *b);

/* Whether what RESERVED is there for has room for NEEDS. */
bool cgx_needs_fit(const struct cgx_needs *needs, const struct cgx_needs *reserved);

/* How the sums of a communicator are formed. */
struct cgx_scheme {
    const struct cgx_nodes *nodes;
    const struct cgx_nodes *flat; /* the same ranks, each a node of its own */
    bool leaders;                 /* one rank of each node exchanges data with other nodes */
    bool raw;                     /* ranks of a node, where there are several, get elements as is */
    bool watched;                 /* owners say how far the ranks' contributions are apart */
    enum cgx_reduction intra;     /* inside a node: SRA or RING */
    enum cgx_reduction inter;     /* between nodes */
    struct cgx_network network;   /* between nodes */
};

/* What is the same in every call with one plan on one communicator, and but for plan, slices and
 * hash with all that the plan may become.
 *
 * The buffer is cut into shards, one for each of the first members of every node, as many as the
 * smallest node has or, with leaders, one. A shard is cut into columns, those of the grid that
 * nodes stand in, and a column into chunks, one for each row. Without a grid there is one row, and
 * a column for each node. */
struct cgx_schedule {
    const struct cgx_plan *plan;
    const struct cgx_nodes *nodes;
    unsigned ranks;
    unsigned shards;
    struct cgx_node_grid grid;       /* of the nodes */
    struct cgx_network network;      /* between them */
    enum cgx_reduction intra, inter; /* SRA or RING; with several rows cross is SRA */
    bool raw;                        /* members of a node get elements as they are, to sum them */
    bool trailers[CGX_TRAILERS];     /* needed ones, of those that do not follow the plan alone */
    unsigned slices;
    unsigned most_slices; /* of the plan at its widest: no other has more */
    uint32_t hash;        /* of all of this: in every message */
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

/* The chunk that RANK owns; CGX_NO_CHUNK: none. */
#define CGX_NO_CHUNK UINT_MAX
unsigned cgx_schedule_chunk_of(const struct cgx_schedule *schedule, unsigned rank);

/* Messages for one of MEMBERS ranks that REDUCTION keeps in the staging memory until they are
 * summed. */
static inline size_t cgx_schedule_reserved(enum cgx_reduction reduction, size_t members)
{
    return reduction == CGX_REDUCTION_RING && members > 1 ? 1 : members - 1;
}

/* Sets where the TRAILERS behind a part of UNITS in NPIECES begin, from the first on, and where the
 * last ends. */
void cgx_schedule_lay(const struct cgx_schedule *schedule, unsigned slice, size_t units,
                      size_t npieces, size_t *trailers);

/* Of calls with PLAN, with needs for all that it may become: WIDEST is that of cgx_plan_widest, or
 * of a plan that is not adaptive the same, and not needed any more. STAGING: the most bytes of
 * staging memory, on the host, that a call may use; a device backend has as much on the device.
 * Less is used where that keeps links busier. Where even parts of two units need more, it is used
 * all the same. Falls back to flat SRA if a sum of several stages could exceed the error
 * bound. SCHEME's nodes must outlive the schedule. */
struct cgx_schedule cgx_coll_schedule(const struct cgx_plan *plan, const struct cgx_plan *widest,
                                      const struct cgx_scheme *scheme, size_t staging);

/* Takes SCHEDULE to a plan that differs in widths, or to that plan after they have changed: its
 * slices are as few as it needs in the memory of the widest. */
void cgx_coll_follow(struct cgx_schedule *schedule, const struct cgx_plan *plan);

#endif
