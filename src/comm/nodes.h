/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks of a communicator share a node, and how its sums are formed. */
#ifndef CGX_COMM_NODES_H
#define CGX_COMM_NODES_H

#include "coll/schedule.h"
#include "comm/state.h"

/* Finds the nodes of COMM's ranks, and the pace of their messages (pace.h), on all of them or none:
 * *FOUND. Nodes are as CGX_TOPOLOGY says or, where that is auto or contradicts the job (rank 0
 * warns, once), as MPI does: ranks share a node if they can share memory. Collective on COMM until
 * it is found. Returns MPI's code. */
int cgx_nodes_discover(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state,
                       bool *found);

/* Of a communicator whose nodes are known. */
struct cgx_scheme cgx_nodes_scheme(const struct cgx_comm *state);

#endif
