/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How a device gets the payloads of local peers, the other ranks of its node: from the memory in
 * which they have their mirrors of the staging memory (work.h), which it opens (CUDA IPC), or from
 * their staging memory itself, which it registers. What says that they are there, and what the host
 * must know of them, goes through shared memory on the host (coll/shm.h). */
#ifndef CGX_CUDA_PEERS_H
#define CGX_CUDA_PEERS_H

#include "cuda/device_backend.h"

/* What local peers need to open a mirror. All zeros: there is none. */
struct cgx_cuda_handle {
    uint64_t cookie; /* told apart from that of any other */
    uint64_t bytes;  /* of the mirror */
    unsigned char ipc[64];
    char bus_id[32]; /* of its device; "": not known */
};

/* Makes the mirror of BACKEND one that local peers may open, unless it is. CGX_ERR_INVALID: BACKEND
 * is none of a device, or not the one that the staging memory is pinned for; CGX_ERR_DEVICE: the
 * driver does not share its memory, or does not pin the host's. */
enum cgx_status cgx_cuda_export(struct cgx_backend *backend, struct cgx_cuda_handle *to);

/* The cookie of the mirror that was offered of those of ALL, or 0. */
uint64_t cgx_cuda_exported_cookie(const struct cgx_cuda_backends *all);

/* The staging memory of a local peer as it is mapped here, for reading. */
struct cgx_cuda_segment {
    const void *memory; /* whole pages, with its cookie at the start; NULL: it is not here */
    size_t bytes;
    size_t front; /* where in it the staging memory begins */
    uint64_t cookie;
};

struct cgx_cuda_peer {
    struct cgx_cuda_handle mirror;   /* for CGX_PULL_DEVICE */
    struct cgx_cuda_segment segment; /* for CGX_PULL_HOST; may be unmapped afterwards */
};

/* Has BACKEND pull from NPEERS local peers, but from SELF, by PULL, which is not NONE.
 * CGX_ERR_INVALID, CGX_ERR_NOMEM: it cannot from all of them, and is not connected. */
enum cgx_status cgx_cuda_connect(struct cgx_backend *backend, enum cgx_pull pull,
                                 const struct cgx_cuda_peer *peers, unsigned npeers, unsigned self);

/* Gives up what the backends of ALL have of local peers. */
void cgx_cuda_disconnect(struct cgx_cuda_backends *all);

/* How BACKEND can pull. */
enum cgx_pull cgx_cuda_connection(const struct cgx_backend *backend);

/* Whether BACKEND is one of a device. */
bool cgx_cuda_is_device(const struct cgx_backend *backend);

/* Call when no peer uses the mirror of COOKIE any more: it is no longer offered. */
void cgx_cuda_withdraw(struct cgx_cuda_backends *all, uint64_t cookie);

/* To be called in MPI_Finalize: memory that local peers could open (exported.h) is freed as the
 * process exits, by when MPI_Finalize has returned, which it does on no rank before all have come
 * to it. */
void cgx_cuda_finalize(void);

#endif
