/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The device backend: codec/backend.h on the GPU of the caller's buffer. */
#ifndef CGX_CUDA_DEVICE_BACKEND_H
#define CGX_CUDA_DEVICE_BACKEND_H

#include "codec/backend.h"
#include "cuda/memory.h"

/* A list of device backends for one staging memory, one for each context that has had a buffer. */
struct cgx_cuda_work;

/* The backend for BUFFER, device or managed memory, found in *ALL or added to it (*ALL is NULL at
 * first). AREA must be the same in all calls with *ALL and outlive it. Operations wait for the
 * legacy default stream before they read buffers. CGX_ERR_NOMEM, CGX_ERR_DEVICE: no backend. */
enum cgx_status cgx_cuda_backend(struct cgx_cuda_work **all, const struct cgx_pointer *buffer,
                                 const struct cgx_area *area, struct cgx_backend **backend);

/* Frees all backends. Nothing may be queued; contexts may have gone already. False: the staging
 * memory may still be pinned in a broken context and must never be freed. */
bool cgx_cuda_backends_free(struct cgx_cuda_work *all);

/* ---- local peers, the other ranks of the node (peers.c) ---- */

/* A device gets their payloads from their mirrors of the staging memory (work.h), which it opens
 * (CUDA IPC), or from their staging memory, which it registers. Notifications, and what the host
 * must read, go through shared host memory (coll/shm.h). */

/* What local peers need to open a mirror. All zeros: none. */
struct cgx_cuda_handle {
    uint64_t cookie; /* a cookie that no other mirror has */
    uint64_t bytes;  /* bytes of the mirror */
    unsigned char ipc[64];
    char bus_id[32]; /* bus id of its device; "": unknown */
};

/* Makes BACKEND's mirror available to local peers, unless it is already. CGX_ERR_INVALID: BACKEND
 * is no device backend, or not the one that the staging memory is pinned for. CGX_ERR_DEVICE: the
 * driver does not share its memory or does not pin the host's. */
enum cgx_status cgx_cuda_export(struct cgx_backend *backend, struct cgx_cuda_handle *to);

/* The cookie of the mirror offered by one of ALL, or 0. */
uint64_t cgx_cuda_exported_cookie(const struct cgx_cuda_work *all);

struct cgx_cuda_peer {
    struct cgx_cuda_handle mirror;   /* used for CGX_PULL_DEVICE */
    struct cgx_peer_segment segment; /* used for CGX_PULL_HOST; may be unmapped after connecting */
};

/* Connects BACKEND to NPEERS local peers except SELF, to pull by PULL, which is not NONE; this is
 * its connection then.
 * CGX_ERR_INVALID, CGX_ERR_NOMEM: it cannot pull from all of them, and is not connected. */
enum cgx_status cgx_cuda_connect(struct cgx_backend *backend, enum cgx_pull pull,
                                 const struct cgx_cuda_peer *peers, unsigned npeers, unsigned self);

/* Closes what the backends of ALL have opened of local peers. */
void cgx_cuda_disconnect(struct cgx_cuda_work *all);

/* Withdraws the offer of the mirror with COOKIE; no peer may use it any more. */
void cgx_cuda_withdraw(struct cgx_cuda_work *all, uint64_t cookie);

#endif
