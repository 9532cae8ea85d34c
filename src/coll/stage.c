/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/stage.h"

#include <string.h>

unsigned cgx_stage_rank(const struct cgx_slice *slice, const struct cgx_stage *stage,
                        unsigned member)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;

    return stage->is_cross ? nodes->members[nodes->first[member] + slice->local]
                           : nodes->members[nodes->first[slice->node] + member];
}

void cgx_stage_store(struct cgx_slice *slice, const struct cgx_stage *stage, size_t at,
                     size_t bytes)
{
    if (stage->is_cross || slice->pull == CGX_PULL_NONE)
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
                     stage->is_cross ? CGX_REACH_ALL : CGX_REACH_NODE);
}
