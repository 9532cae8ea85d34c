/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The stages of an all-reduce. The members of a node form the sums of its shards, each member one;
 * then members of different nodes with the same shard form the sums of its chunks: those of a row
 * of the grid first, each that of a column, then those of a column. Results return by the same
 * transports, unchanged: between rows, along each, then inside nodes. An element is quantised as
 * input, as sum of a node, as sum of a row and as sum of all: three times at most with SRA and
 * without a grid. Where every rank is a node of its own, or all are on one, and there is no grid,
 * there is one stage, and this is torch_cgx's scatter-reduce-allgather.
 *
 * A stage has members that own a block each, or none: shards inside a node, columns in a row, parts
 * in a column. Sums are in float32, in rank order inside a node and then node by node, row by row.
 */
#ifndef CGX_COLL_STAGE_H
#define CGX_COLL_STAGE_H

#include "coll/scratch.h"

/* Queues what can be done before the slice before has been served. */
void cgx_stages_start(struct cgx_slice *slice);

/* Moves the rest on as far as what has arrived allows; COMPLETE: the reduced parts are in their
 * messages, and vote, lost and sent are set. Waits for this rank's device alone. CGX_ERR_MPI or
 * CGX_OK. */
enum cgx_status cgx_stages_poll(struct cgx_slice *slice, bool *complete);

/* ---- operands ---- */

/* In the array at MEMORY: the caller's input alone. */
struct cgx_operands cgx_operands_start(const unsigned char **memory);

/* Rebases all encoded operands to staging offset ORIGIN; raw ones keep theirs. */
void cgx_operands_rebase(struct cgx_operands *operands, size_t origin);

/* Puts messages of EXTENT bytes each, from ARRIVED on, around the others: BEFORE of them, then the
 * operands so far, then AFTER. ARE_RAW: they hold elements, as the operands so far do. */
void cgx_operands_surround(struct cgx_operands *operands, const unsigned char *arrived,
                           size_t extent, unsigned before, unsigned after, bool are_raw);

/* ---- what algorithms have in common ---- */

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

    /* Exchanges that a reduce-scatter takes, and an allgather. */
    unsigned (*rounds)(const struct cgx_stage *stage);

    /* Lists the messages of ROUND of the reduce-scatter, and sums what has arrived in them. When
     * all rounds are over the operands are all contributions to this rank's block; before, they are
     * what this rank brings, and the first send is ready. */
    void (*reduce_scatter)(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round);
    void (*sum)(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round);

    /* Lists the messages of ROUND of the allgather: the own block goes to all, others come. */
    void (*allgather)(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round);
};

extern const struct cgx_stage_ops cgx_sra, cgx_ring;

#endif
