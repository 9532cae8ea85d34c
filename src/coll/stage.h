/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The stages of an all-reduce. First the members of a node sum its shards, one shard per member.
 * Then members of different nodes with the same shard sum its chunks: along each row of the grid a
 * column per member, then along each column. Results return over the same transports, unchanged:
 * between rows, along rows, inside nodes. An element is quantised as input, as sum of a node, as
 * sum of a row and as the total: with SRA and no grid three times at most. If every rank is a node
 * of its own, or all are on one node, and there is no grid, there is one stage: torch_cgx's
 * scatter-reduce-allgather.
 *
 * Some members of a stage own a block: a shard inside a node, a column in a row, a part in a
 * column. Sums are in float32, in rank order inside a node, then node by node, row by row. */
#ifndef CGX_COLL_STAGE_H
#define CGX_COLL_STAGE_H

#include "coll/scratch.h"

/* Queues the work that need not wait for the slice before. */
void cgx_stages_start(struct cgx_slice *slice);

/* Progresses the slice as far as arrived messages allow. COMPLETE: the reduced parts are in their
 * messages, and vote, lost and sent are set. Waits for this rank's device only. CGX_ERR_MPI or
 * CGX_OK. */
enum cgx_status cgx_stages_poll(struct cgx_slice *slice, bool *complete);

/* ---- operands ---- */

/* Operands in the array at MEMORY: first the caller's input alone. */
struct cgx_operands cgx_operands_start(const unsigned char **memory);

/* Moves all encoded operands to staging offset ORIGIN. */
void cgx_operands_rebase(struct cgx_operands *operands, size_t origin);

/* Adds messages of EXTENT bytes each, from ARRIVED on: BEFORE of them before the operands so far,
 * AFTER behind. */
void cgx_operands_surround(struct cgx_operands *operands, const unsigned char *arrived,
                           size_t extent, unsigned before, unsigned after);

/* ---- members and their sums ---- */

unsigned cgx_stage_rank(const struct cgx_slice *slice, const struct cgx_stage *stage,
                        unsigned member);

/* Gives the COUNT messages with BLOCK that have arrived to the next sums. */
void cgx_stage_store(struct cgx_slice *slice, const struct cgx_stage *stage,
                     const struct cgx_block *block, unsigned count);

/* Sums into BLOCK, which may be a run of blocks, this rank's contribution and the first NSOURCES of
 * the scratch memory's sources, for STAGE. */
void cgx_stage_sum(struct cgx_slice *slice, const struct cgx_stage *stage,
                   const struct cgx_block *block, size_t nsources);

/* The number of sources of a sum in BLOCK: the first NSOURCES of the scratch memory's, followed by
 * this rank's contribution. */
size_t cgx_stage_list(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources);

/* ---- SRA ---- */

/* The blocks that this rank sends, all but its own; encoded before the stage starts. There are no
 * pieces if there is nothing to send. */
struct cgx_block cgx_sra_first_send(const struct cgx_stage *stage);

/* Lists the messages of a reduce-scatter. */
void cgx_sra_reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage);

/* When they have arrived, adds them to the operands: all contributions to this rank's block. */
void cgx_sra_sum(struct cgx_slice *slice, const struct cgx_stage *stage);

/* Lists the messages of an allgather: this rank's block goes to all others, and theirs arrive. */
void cgx_sra_allgather(struct cgx_slice *slice, const struct cgx_stage *stage);

#endif
