/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads from device to device through CUDA IPC: a rank opens the memory in which its mates, the
 * other ranks of its node, have their mirrors of the staging memory (work.h), and copies what they
 * send from there. What says that it is there, and what the host must know of it, goes through
 * shared memory on the host (coll/shm.h). */
#ifndef CGX_CUDA_PEERS_H
#define CGX_CUDA_PEERS_H

#include "cuda/backend.h"

/* What mates need to open a mirror. All zeros: there is none. */
struct cgx_cuda_offer {
    uint64_t cookie; /* told apart from that of any other */
    uint64_t bytes;  /* of the mirror */
    unsigned char handle[64];
};

/* Makes the mirror of BACKEND one that mates may open, unless it is. CGX_ERR_INVALID: BACKEND is
 * none of a device, or not the one that the staging memory is pinned for; CGX_ERR_DEVICE: the
 * driver does not share its memory, or does not pin the host's. */
enum cgx_status cgx_cuda_offer(struct cgx_backend *backend, struct cgx_cuda_offer *offer);

/* The cookie of the mirror that was offered of those of ALL, or 0. */
uint64_t cgx_cuda_offered(const struct cgx_cuda_backends *all);

/* Opens for BACKEND the mirrors that NMATES mates OFFER, but that of SELF. CGX_ERR_INVALID,
 * CGX_ERR_NOMEM: not all of them can be had, and none is open. */
enum cgx_status cgx_cuda_connect(struct cgx_backend *backend, const struct cgx_cuda_offer *offers,
                                 unsigned nmates, unsigned self);

/* Closes what is open for the backends of ALL. */
void cgx_cuda_disconnect(struct cgx_cuda_backends *all);

/* Whether mirrors are open for BACKEND: then it can pull. */
bool cgx_cuda_is_connected(const struct cgx_backend *backend);

/* No mate will use the mirror of COOKIE any more: it is no longer offered. */
void cgx_cuda_withdraw(struct cgx_cuda_backends *all, uint64_t cookie);

/* To be called in MPI_Finalize: memory that mates could open (exported.h) is freed as the process
 * exits, by when MPI_Finalize has returned, which it does on no rank before all have come to it. */
void cgx_cuda_finalize(void);

#endif
