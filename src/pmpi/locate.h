/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks of a communicator share a node. */
#ifndef CGX_PMPI_LOCATE_H
#define CGX_PMPI_LOCATE_H

#include <stdbool.h>

#include "topo/nodes.h"
#include "util/mpi.h"

/* As CGX_TOPOLOGY says or, where that is auto or contradicts the job (rank 0 warns, once), as MPI
 * does: ranks share a node if they can share memory. Collective on COMM, of SIZE ranks; all ranks
 * get the same, *NODES of NULL if a rank had no memory or is not READY. Free with cgx_nodes_free.
 * Returns MPI's code. */
int cgx_locate(const struct cgx_mpi *mpi, MPI_Comm comm, int size, bool ready,
               struct cgx_nodes **nodes);

#endif
