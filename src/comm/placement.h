/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds which ranks of a communicator share a node, and so how its sums are formed. */
#ifndef CGX_COMM_PLACEMENT_H
#define CGX_COMM_PLACEMENT_H

#include "comm/state.h"
#include "topo/claims.h"

/* Finds STATE's nodes, the network between them and the pace of messages. Nodes follow
 * CGX_TOPOLOGY or, if that is auto or contradicts the job (rank 0 warns once), machines: ranks of
 * one kernel and host name share a node. All ranks find them or none.
 *
 * Begin says in WORDS of a ballot whether this rank has the memory for that, and which node it is
 * on. If the joint WORDS say that all ranks have it, end gathers the rest, unless the nodes are
 * known or the ballot failed, as its CODE says. It frees what begin made, and returns CODE or that
 * of the communicator's error handler. */
#define CGX_PLACING_WORDS 3
struct cgx_placing {
    struct cgx_nodes *nodes;
    struct cgx_claim mine, *claims; /* this rank's, those of all ranks, ... */
    int *keys;                      /* ... and the nodes that these name */
};

void cgx_placement_begin(struct cgx_comm *state, struct cgx_placing *placing, uint32_t *words);
int cgx_placement_end(struct cgx_comm *state, struct cgx_placing *placing, const uint32_t *words,
                      int code);

/* Devices of a node turned out not to read each other's memory, on all ranks: the network of a
 * single node is another one, and schedules made with it have become stale. */
void cgx_placement_unlink(struct cgx_comm *state);

#endif
