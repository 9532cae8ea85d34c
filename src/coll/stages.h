/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The stages of an all-reduce. The members of a node form the sums of its shards, each member one;
 * then members of different nodes with the same shard form the sums of its chunks: those of a row
 * of the grid (node_grid.h) first, each that of a column, then those of a column. The results go
 * the same transports back, verbatim: between rows, along each, then inside nodes. An element is
 * quantised as input, as sum of a node, as sum of a row and as sum of all: three times at most with
 * SRA and without a grid. Where every rank is a node of its own, or all are on one, and there is no
 * grid, there is one stage, and this is torch_cgx's scatter-reduce-allgather.
 *
 * A stage has members that own a block each, or none: shards inside a node, columns in a row, parts
 * in a column. Sums are in float32, in rank order inside a node and then node by node, row by row.
 */
#ifndef CGX_COLL_STAGES_H
#define CGX_COLL_STAGES_H

#include "coll/slice.h"

/* Queues what can be done before the slice before has been served. */
void cgx_stages_start(struct cgx_slice *slice);

/* Moves the rest on as far as what has arrived allows; COMPLETE: the reduced parts are in their
 * messages, and standing, lost and sent are set. Waits for this rank's device alone. CGX_ERR_MPI or
 * CGX_OK. */
enum cgx_status cgx_stages_poll(struct cgx_slice *slice, bool *complete);

#endif
