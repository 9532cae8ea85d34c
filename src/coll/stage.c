/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/stage.h"

#include <string.h>

struct cgx_operands cgx_operands_start(const unsigned char **memory)
{
    memory[0] = NULL;
    return (struct cgx_operands){.at = memory, .count = 1};
}

void cgx_operands_rebase(struct cgx_operands *operands, size_t origin)
{
    ptrdiff_t by = (ptrdiff_t)origin - (ptrdiff_t)operands->origin;

    for (size_t i = 0; i < operands->count; i++) {
        if (operands->at[i])
            operands->at[i] += by;
    }
    operands->origin = origin;
}

void cgx_operands_surround(struct cgx_operands *operands, const unsigned char *arrived,
                           size_t extent, unsigned before, unsigned after)
{
    size_t count = operands->count;

    memmove(operands->at + before, operands->at, count * sizeof operands->at[0]);
    for (unsigned i = 0; i < before + after; i++)
        operands->at[i < before ? i : i + count] = arrived + i * extent;
    operands->count = count + before + after;
}

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

void cgx_stage_store(struct cgx_slice *slice, const struct cgx_stage *stage,
                     const struct cgx_block *block, unsigned count)
{
    if (stage->level != CGX_LEVEL_NODE || slice->pull == CGX_PULL_NONE)
        cgx_slice_store(slice, block, stage->incoming, count);
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
    cgx_slice_reduce(slice, block, cgx_stage_list(slice, block, nsources), stage->level);
}
