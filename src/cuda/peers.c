/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/peers.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/exported.h"
#include "cuda/work.h"
#include "util/cookie.h"

struct cgx_cuda_peers {
    unsigned count;
    struct peer {
        CUdeviceptr memory; /* 0: not open */
        uint64_t bytes;     /* of its mirror */
    } peers[];
};

/* ---- what mates open ---- */

/* The cookie lies in front of the mirror: who opens what is no longer this memory sees it. */
static enum cgx_status mark(struct cgx_cuda_work *work)
{
    uint64_t cookie = cgx_cookie();
    enum cgx_status status = cgx_cuda_status(
        cgx_cuda()->cuMemcpyHtoD(work->memory, &cookie, sizeof cookie), "cuMemcpyHtoD");

    /* From pageable memory it may return before all has arrived. */
    if (status == CGX_OK)
        status = cgx_cuda_status(cgx_cuda()->cuStreamSynchronize(CU_STREAM_LEGACY),
                                 "cuStreamSynchronize");
    if (status != CGX_OK)
        return status;
    work->cookie = cookie;
    work->exported->offered = true;
    return CGX_OK;
}

/* Kernels are to write headers into the staging memory of every lane. */
static enum cgx_status look_at_lanes(const struct cgx_cuda_work *work)
{
    enum cgx_status status = CGX_OK;

    for (unsigned i = 0; i < CGX_LANES; i++) {
        const struct cgx_cuda_lane *lane = &work->lanes[i];

        if (lane->host && !lane->there && status != CGX_ERR_DEVICE)
            status = lane->elsewhere ? CGX_ERR_INVALID : CGX_ERR_DEVICE;
    }
    return status;
}

enum cgx_status cgx_cuda_offer(struct cgx_backend *backend, struct cgx_cuda_offer *offer)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    CUipcMemHandle handle;
    enum cgx_status status = work && work->exported ? look_at_lanes(work) : CGX_ERR_INVALID;

    if (status != CGX_OK)
        return status;
    if (cgx_cuda_work_enter(work) != CGX_OK)
        return CGX_ERR_DEVICE;
    status =
        cgx_cuda_status(cgx_cuda()->cuIpcGetMemHandle(&handle, work->memory), "cuIpcGetMemHandle");
    if (status == CGX_OK && work->cookie == 0)
        status = mark(work);
    cgx_cuda_leave();
    if (status != CGX_OK)
        return CGX_ERR_DEVICE;
    offer->cookie = work->cookie;
    offer->bytes = work->mirrors;
    _Static_assert(sizeof offer->handle == sizeof handle, "a handle is that of the driver");
    memcpy(offer->handle, &handle, sizeof handle);
    return CGX_OK;
}

uint64_t cgx_cuda_offered(const struct cgx_cuda_backends *all)
{
    while (all && all->work.cookie == 0)
        all = all->next;
    return all ? all->work.cookie : 0;
}

/* ---- what was opened of mates ---- */

static void close_peers(struct cgx_cuda_peers *peers)
{
    for (unsigned i = 0; i < peers->count; i++) {
        if (peers->peers[i].memory)
            cgx_cuda_status(cgx_cuda()->cuIpcCloseMemHandle(peers->peers[i].memory),
                            "cuIpcCloseMemHandle");
    }
}

/* In the context of WORK, which is current where it could be. */
void cgx_cuda_work_disconnect(struct cgx_cuda_work *work, bool entered)
{
    if (work->peers && entered)
        close_peers(work->peers);
    free(work->peers);
    work->peers = NULL;
}

/* The cookie at MEMORY, by the way that payloads go: where copies between devices lose bytes, as
 * behind some IOMMUs, no call of the driver says so. */
static enum cgx_status pull_cookie(const struct cgx_cuda_work *work, CUdeviceptr memory,
                                   uint64_t *cookie)
{
    CUdeviceptr pulled = work->memory + CGX_CUDA_MIRRORS / 2;
    enum cgx_status status =
        cgx_cuda_status(cgx_cuda()->cuMemcpyDtoDAsync(pulled, memory, sizeof *cookie, work->up),
                        "cuMemcpyDtoDAsync");

    if (status == CGX_OK)
        status = cgx_cuda_status(cgx_cuda()->cuStreamSynchronize(work->up), "cuStreamSynchronize");
    if (status == CGX_OK)
        status = cgx_cuda_status(cgx_cuda()->cuMemcpyDtoH(cookie, pulled, sizeof *cookie),
                                 "cuMemcpyDtoH");
    return status;
}

/* In the current context, which is that of WORK. */
static enum cgx_status open_peer(const struct cgx_cuda_work *work,
                                 const struct cgx_cuda_offer *offer, struct peer *peer)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;
    uint64_t cookie = 0;
    enum cgx_status status;

    if (offer->cookie == 0)
        return CGX_ERR_INVALID;
    memcpy(&handle, offer->handle, sizeof handle);
    status = cgx_cuda_status(
        cgx_cuda()->cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
        "cuIpcOpenMemHandle");
    if (status != CGX_OK)
        return CGX_ERR_INVALID;
    *peer = (struct peer){.memory = memory, .bytes = offer->bytes};
    status = pull_cookie(work, memory, &cookie);
    return status == CGX_OK && cookie == offer->cookie ? CGX_OK : CGX_ERR_INVALID;
}

enum cgx_status cgx_cuda_connect(struct cgx_backend *backend, const struct cgx_cuda_offer *offers,
                                 unsigned nmates, unsigned self)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    enum cgx_status status = CGX_OK;

    if (!work || cgx_cuda_work_enter(work) != CGX_OK)
        return CGX_ERR_INVALID;
    cgx_cuda_work_disconnect(work, true);
    work->peers = calloc(1, sizeof *work->peers + nmates * sizeof work->peers->peers[0]);
    if (!work->peers) {
        status = CGX_ERR_NOMEM;
        goto leave;
    }
    work->peers->count = nmates;
    for (unsigned i = 0; status == CGX_OK && i < nmates; i++) {
        if (i != self)
            status = open_peer(work, &offers[i], &work->peers->peers[i]);
    }
    if (status != CGX_OK)
        cgx_cuda_work_disconnect(work, true);
leave:
    cgx_cuda_leave();
    return status;
}

void cgx_cuda_disconnect(struct cgx_cuda_backends *all)
{
    for (; all; all = all->next) {
        bool entered = all->work.peers && cgx_cuda_work_enter(&all->work) == CGX_OK;

        cgx_cuda_work_disconnect(&all->work, entered);
        if (entered)
            cgx_cuda_leave();
    }
}

bool cgx_cuda_is_connected(const struct cgx_backend *backend)
{
    const struct cgx_cuda_work *work = cgx_cuda_work_of((struct cgx_backend *)backend);

    return work && work->peers;
}

CUdeviceptr cgx_cuda_peer_at(const struct cgx_cuda_work *work, unsigned mate, size_t offset,
                             size_t bytes)
{
    const struct cgx_cuda_peers *peers = work->peers;

    if (!peers || mate >= peers->count || peers->peers[mate].memory == 0 ||
        offset > peers->peers[mate].bytes || bytes > peers->peers[mate].bytes - offset)
        return 0;
    return peers->peers[mate].memory + CGX_CUDA_MIRRORS + offset;
}

void cgx_cuda_withdraw(struct cgx_cuda_backends *all, uint64_t cookie)
{
    for (; all; all = all->next) {
        if (all->work.cookie == cookie)
            all->work.cookie = 0;
    }
}
