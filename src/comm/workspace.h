/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory that compressed calls work in, with what local peers share of it. Communicators that
 * share a private communicator (own.h) share this too, if their sums were in host memory: their
 * calls follow each other in one order on all ranks, as calls of one communicator do. */
#ifndef CGX_COMM_WORKSPACE_H
#define CGX_COMM_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/scratch.h"
#include "topo/nodes.h"

/* All zeros: there is none. */
struct cgx_workspace {
    struct cgx_scratch scratch;
    struct cgx_needs held;   /* what calls can rely on, on all ranks */
    struct cgx_shm *shm;     /* NULL: all messages go by MPI */
    struct cgx_nodes *nodes; /* that SHM goes by */
    uint64_t shm_cookie;     /* of the segment that local peers are attached to */
    uint64_t mirror_cookie;  /* of the device memory that was offered them last; 0: none */
    bool shm_refused;        /* local peers cannot share memory */
    bool mirrors_refused;    /* nor open the memory of each other's devices */
    bool segments_refused;   /* this rank's devices cannot read what local peers share */
};

/* Puts MINE, which was just made for NEEDS and is not connected yet, into SHARED, or frees it if
 * SHARED is enough. False: each has what the other lacks, and nothing was done. Decided by NEEDS
 * alone and what all ranks hold. */
bool cgx_workspace_join(struct cgx_workspace *shared, struct cgx_workspace *mine,
                        const struct cgx_needs *needs);

/* Frees what WORK has; BROKEN: but for what requests of MPI may still be under way in. */
void cgx_workspace_release(struct cgx_workspace *work, bool broken);

#endif
