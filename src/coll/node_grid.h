/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Nodes in rows that are alike in length to one. The nodes of a row, one for each of its columns,
 * form sums of what they bring, and then those of a column the sums of all rows. Where a row is
 * longer than others its last node has no column. One row is no grid: its nodes form the sums. */
#ifndef CGX_COLL_NODE_GRID_H
#define CGX_COLL_NODE_GRID_H

#include <stdint.h>

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

#endif
