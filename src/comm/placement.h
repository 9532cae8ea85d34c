/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds which ranks of a communicator share a node, and how its sums are formed. */
#ifndef CGX_COMM_PLACEMENT_H
#define CGX_COMM_PLACEMENT_H

#include "coll/schedule.h"
#include "comm/state.h"

/* Finds STATE's nodes, the network between them and the pace of messages. Nodes follow
 * CGX_TOPOLOGY or, if that is auto or contradicts the job (rank 0 warns once), MPI: ranks that can
 * share memory share a node. All ranks find them or none.
 *
 * Begin is collective on the caller's communicator as long as the nodes are unknown. READY: this
 * rank has all that it needs; if ALL are, ranks gather the rest. End returns MPI's code. */
struct cgx_placing {
    struct cgx_nodes *nodes;
    struct cgx_place *places; /* of all ranks, as ... */
    struct cgx_claim *claims;
    int *keys;
    int key;    /* this rank's */
    bool alone; /* there is one node */
    bool ready;
};

void cgx_placement_begin(struct cgx_comm *state, struct cgx_placing *placing);
int cgx_placement_end(struct cgx_comm *state, struct cgx_placing *placing, bool all);

/* Devices of a node turned out not to read each other's memory, on all ranks: the network of a
 * single node is another one, and schedules made with it have become stale. */
void cgx_placement_unlink(struct cgx_comm *state);

/* Whether calls of KEY are too small to gain from compression; false while the nodes are unknown.
 * The same on all ranks. */
bool cgx_placement_make_small(const struct cgx_comm *state, const struct cgx_callsite_key *key);

/* The scheme of a communicator whose nodes are known. */
struct cgx_scheme cgx_placement_scheme(const struct cgx_comm *state);

#endif
