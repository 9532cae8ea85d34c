/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Private communicators for the library's messages. MPI libraries limit the communicators of a
 * process, and programs may use most of them. So communicators of the same processes in the same
 * order share a private one, unless a process may have several threads in MPI at once, or the
 * program may continue after ranks fail, since it must be able to revoke a single communicator.
 * Calls on a shared one never overlap: each waits for all ranks, so they follow each other in one
 * order on all ranks, as calls on one communicator do. */
#ifndef CGX_COMM_PRIVATE_COMM_H
#define CGX_COMM_PRIVATE_COMM_H

#include <stdbool.h>

#include "comm/state.h"

/* Gets STATE's private communicator, shared or new, on all ranks or none: *HAD. There is none if a
 * process has reached its limit or MPI has no more. If all ranks pass NEEDS, for which STATE has
 * just reserved memory, that memory is shared too. Collective. Returns MPI's code. */
int cgx_private_get(struct cgx_comm *state, const struct cgx_needs *needs, bool *had);

/* Call when STATE's communicator is freed: frees its private one unless others share it. */
void cgx_private_put(struct cgx_comm *state);

/* MPI has failed with CODE on STATE's communicator: messages may be under way on its private one,
 * which is revoked if the MPI can, so that ranks do not wait there for ever. */
void cgx_private_break(struct cgx_comm *state, int code);

/* The code of the first failure there, or on a communicator that shares its private one; or
 * MPI_SUCCESS. */
int cgx_private_broken(const struct cgx_comm *state);

/* ---- the memory that calls work in ---- */

/* Frees WORK; BROKEN: except memory that MPI requests may still use. */
void cgx_workspace_release(struct cgx_workspace *work, bool broken);

#endif
