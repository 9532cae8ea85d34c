/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks of a communicator share a node, and how its sums are formed. */
#ifndef CGX_COMM_PLACEMENT_H
#define CGX_COMM_PLACEMENT_H

#include "coll/schedule.h"
#include "comm/state.h"

/* Finds STATE's nodes, the network between them and the pace of their messages, on all ranks or
 * none. Nodes are as CGX_TOPOLOGY says or, where that is auto or contradicts the job (rank 0 warns,
 * once), as MPI does: ranks share a node if they can share memory. Collective on the caller's
 * communicator until they are found. Returns MPI's code. */
int cgx_placement_discover(struct cgx_comm *state);

/* Whether calls of KEY are too small to gain by being compressed between STATE's
 * nodes; false while these are not known. The same on all ranks. */
bool cgx_placement_make_small(const struct cgx_comm *state, const struct cgx_callsite_key *key);

/* Of a communicator whose nodes are known. */
struct cgx_scheme cgx_placement_scheme(const struct cgx_comm *state);

#endif
