/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/stage.h"

#include <string.h>

unsigned cgx_stage_rank(const struct cgx_slice *slice, const struct cgx_stage *stage,
                        unsigned member)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    const struct cgx_nodes *nodes = schedule->nodes;
    const struct cgx_node_grid *grid = &schedule->grid;
    unsigned node = stage->level == CGX_LEVEL_ROW
                        ? cgx_node_grid_first(grid, slice->row) + member
                        : cgx_node_grid_first(grid, member) + slice->column;

    return stage->level == CGX_LEVEL_NODE ? nodes->members[nodes->first[slice->node] + member]
                                          : nodes->members[nodes->first[node] + slice->local];
}

void cgx_stage_store(struct cgx_slice *slice, const struct cgx_stage *stage, size_t at,
                     size_t bytes)
{
    if (stage->level != CGX_LEVEL_NODE || slice->pull == CGX_PULL_NONE)
        cgx_slice_store(slice, at, bytes);
}

size_t cgx_stage_list(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources)
{
    struct cgx_operands *operands = &slice->operands;

    cgx_operands_rebase(operands, block->message);
    memcpy(slice->coll->scratch->sources + nsources, operands->at,
           operands->count * sizeof operands->at[0]);
    return nsources + operands->count;
}

void cgx_stage_sum(struct cgx_slice *slice, const struct cgx_stage *stage,
                   const struct cgx_block *block, size_t nsources)
{
    cgx_slice_reduce(slice, block, cgx_stage_list(slice, block, nsources), true,
                     stage->level == CGX_LEVEL_NODE ? CGX_REACH_NODE : CGX_REACH_ALL);
}
