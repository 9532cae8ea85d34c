/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A stage of an all-reduce (stages.h), and what its algorithms have in common. */
#ifndef CGX_COLL_STAGE_H
#define CGX_COLL_STAGE_H

#include "coll/slice.h"

struct cgx_stage {
    bool is_cross;       /* between nodes */
    bool is_first;       /* what this rank brings are elements, which the start has encoded */
    unsigned size, self; /* members, and which one this rank is */
    unsigned nblocks;    /* of the first so many members */
    const struct cgx_block *blocks;
    size_t incoming; /* where what is to be summed arrives, in the staging memory */
    unsigned seq;    /* number of its first message; there are up to SIZE - 1 between neighbours */
};

unsigned cgx_stage_rank(const struct cgx_slice *slice, const struct cgx_stage *stage,
                        unsigned member);

/* Takes BYTES that have arrived at offset AT of the staging memory for the next sums. */
void cgx_stage_store(struct cgx_slice *slice, const struct cgx_stage *stage, size_t at,
                     size_t bytes);

/* Forms in BLOCK, which may be a run of blocks, the sum of what this rank brings and of NSOURCES
 * more, which are the first of the scratch memory's sources, for STAGE. */
void cgx_stage_sum(struct cgx_slice *slice, const struct cgx_stage *stage,
                   const struct cgx_block *block, size_t nsources);

/* How many sources a sum has that is formed in BLOCK: the first NSOURCES of the scratch memory's,
 * and what this rank brings, which comes behind them. */
size_t cgx_stage_list(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources);

/* An algorithm. */
struct cgx_stage_ops {
    /* The blocks that this rank sends first, encoded before the stage starts: a block or a run of
     * them, of no pieces if there is none. */
    struct cgx_block (*first_send)(const struct cgx_stage *stage);

    /* On return the operands are all contributions to this rank's block; before, they are what this
     * rank brings. The first send is ready. */
    enum cgx_status (*reduce_scatter)(struct cgx_slice *slice, const struct cgx_stage *stage);

    /* Sends the own block to all and gets the others. */
    enum cgx_status (*allgather)(struct cgx_slice *slice, const struct cgx_stage *stage);
};

extern const struct cgx_stage_ops cgx_sra, cgx_ring;

#endif
