/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Private communicators, on which the library's messages go. MPIs have few for a process, of which
 * programs may want most: so communicators of the same processes in the same order have one
 * together, unless a process may have several threads in MPI at once, or a program may go on when
 * ranks fail: what it revokes must be one communicator alone. Then no two calls on them are
 * under way at the same time, and all ranks make them in one order, since each waits for all ranks:
 * they follow each other on the private communicator as calls on one communicator do. */
#ifndef CGX_COMM_PRIVATE_COMM_H
#define CGX_COMM_PRIVATE_COMM_H

#include <stdbool.h>

#include "comm/state.h"

/* Has STATE's private communicator, shared or new, on all ranks or none: *HAD. It is not had where
 * a process has as many as it may, or MPI has no more. If all ranks give NEEDS, which STATE has
 * just been given memory for, it shares that too. To be called on all ranks. Returns
 * MPI's code. */
int cgx_private_get(struct cgx_comm *state, const struct cgx_needs *needs, bool *had);

/* The communicator of STATE is freed: so is its private one, if no other has it. */
void cgx_private_put(struct cgx_comm *state);

/* MPI has failed with CODE on the communicator of STATE: messages may be under way on its private
 * one, which is revoked where the MPI can, so that ranks that wait there do not wait for ever. */
void cgx_private_break(struct cgx_comm *state, int code);

/* The code with which it has failed there first, or on a communicator that shares its private one;
 * or MPI_SUCCESS. */
int cgx_private_broken(const struct cgx_comm *state);

/* ---- the memory that calls work in ---- */

/* Puts MINE, which was just made for NEEDS and is not connected yet, into SHARED, or frees it if
 * SHARED is enough. False: each has what the other lacks, and nothing was done. Decided by NEEDS
 * alone and what all ranks hold. */
bool cgx_workspace_join(struct cgx_workspace *shared, struct cgx_workspace *mine,
                        const struct cgx_needs *needs);

/* Frees what WORK has; BROKEN: but for what requests of MPI may still be under way in. */
void cgx_workspace_release(struct cgx_workspace *work, bool broken);

#endif
