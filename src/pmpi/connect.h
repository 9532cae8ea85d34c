/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ways by which the ranks of a node reach each other. */
#ifndef CGX_PMPI_CONNECT_H
#define CGX_PMPI_CONNECT_H

#include "pmpi/comm.h"

/* The most ranks of a node that share staging memory, as CGX_INNER_COMMUNICATOR_TYPE says: for
 * struct cgx_scratch. */
unsigned cgx_connect_mates(const struct cgx_comm *state);

/* Collective on STATE's private communicator, when staging memory may have grown on some rank: all
 * ranks come to share memory with their mates, or none does from then on, which is logged. Returns
 * MPI's code. */
int cgx_connect(const struct cgx_mpi *mpi, struct cgx_comm *state);

#endif
