/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ways by which the ranks of a node reach each other. */
#ifndef CGX_PMPI_CONNECT_H
#define CGX_PMPI_CONNECT_H

#include "pmpi/comm.h"

/* The most ranks of a node that share staging memory, as CGX_INNER_COMMUNICATOR_TYPE says: for
 * struct cgx_scratch. */
unsigned cgx_connect_mates(const struct cgx_comm *state);

/* Whether mates may come to open the memory of devices. */
bool cgx_connect_may_offer(const struct cgx_comm *state);

/* Collective on STATE's private communicator, when staging memory or backends may have changed on
 * some rank: all ranks come to share memory with their mates, or none does from then on, which is
 * logged. *PULL: how devices then get the payloads of mates in calls with the backend DEVICE on this
 * rank (NULL: with none, or with two); of the ways that CGX_INNER_COMMUNICATOR_TYPE allows the best
 * that all ranks can, and what one cannot none tries again. Returns MPI's code. */
int cgx_connect(const struct cgx_mpi *mpi, struct cgx_comm *state, struct cgx_backend *device,
                enum cgx_pull *pull);

#endif
