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

struct cgx_private_comm {
    struct cgx_private_comm *next;
    cgx_mpi_comm comm;         /* NULL: MPI failed to make it */
    int number;                /* the same on all of its ranks, and unique on each of them */
    int broken;                /* MPI's code after it failed, on any user of it */
    bool late;                 /* made after MPI_Finalize */
    struct cgx_workspace work; /* of communicators that have joined it */
    unsigned users;            /* number of communicators */
    int size;                  /* 0: not shared, without ... */
    int ranks[];               /* ... the ranks of its processes in MPI_COMM_WORLD */
};

/* What ranks say before STATE gets its private communicator: words of a ballot. */
#define CGX_PRIVATE_WORDS 4
struct cgx_private_offer {
    struct cgx_private_comm *made, *found;
};
void cgx_private_offer(const struct cgx_comm *state, struct cgx_private_offer *offer,
                       uint32_t *words);

/* By the joint WORDS, gives STATE a private communicator, shared or new, which is collective on the
 * caller's communicator; if it is not WANTED, frees what OFFER has. JOINS: STATE works in the
 * memory of the private one. False, on all ranks: there is none, since a process has reached its
 * limit. A new one may be missing on some ranks; if so, all of them must put it back. */
bool cgx_private_take(struct cgx_comm *state, struct cgx_private_offer *offer,
                      const uint32_t *words, bool wanted, bool joins);

/* Call when STATE's communicator is freed: frees its private one unless others share it, and the
 * memory of that. */
void cgx_private_put(struct cgx_comm *state);

/* MPI has failed with CODE on STATE's communicator, or ranks have without one: messages may be
 * under way on its private one, which is revoked if the MPI can, so that ranks do not wait there
 * for ever. Then raises an error that says WHY and returns the code of the error handler, after
 * which the communicator may be gone. */
int cgx_private_fail(struct cgx_comm *state, int code, const char *why);

/* The code of the first failure there, or on a communicator that shares its private one; or
 * MPI_SUCCESS. */
static inline int cgx_private_broken(const struct cgx_comm *state)
{
    const bool asks = state->broken == CGX_MPI_SUCCESS && state->private;

    return asks ? state->private->broken : state->broken;
}

/* ---- the memory that calls work in ---- */

/* Frees WORK; BROKEN: except memory that MPI requests may still use. */
void cgx_workspace_release(struct cgx_workspace *work, bool broken);

#endif
