/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ways by which the ranks of a node reach each other. */
#ifndef CGX_COMM_CONNECT_H
#define CGX_COMM_CONNECT_H

#include "comm/state.h"

/* The most ranks of a node that share staging memory, as CGX_INNER_COMMUNICATOR_TYPE says: for
 * struct cgx_scratch. */
unsigned cgx_connect_local_peers(const struct cgx_comm *state);

/* Whether local peers may come to open the memory of devices. */
bool cgx_connect_may_export(const struct cgx_comm *state);

/* Collective on STATE's private communicator, when staging memory or backends may have changed on
 * some rank: all ranks come to share memory with their local peers, or none does from then on,
 * which is logged. The same for the memory of devices, where CGX_INNER_COMMUNICATOR_TYPE allows it,
 * of calls with the backend DEVICE on this rank (NULL: with none, or with two). *BY_DEVICE: such
 * calls go from device to device, on all ranks. Else DEVICE comes to copy from what local peers
 * share, if it can. Returns MPI's code. */
int cgx_connect(struct cgx_comm *state, struct cgx_backend *device, bool *by_device);

/* How DEVICE gets the payloads of local peers in calls of KIND. Only from device to device must all
 * ranks do the same. */
enum cgx_pull cgx_connect_pull(const struct cgx_kind *kind, const struct cgx_backend *device);

#endif
