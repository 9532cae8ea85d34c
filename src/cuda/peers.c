/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/device_backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/work.h"
#include "util/hash.h"
#include "util/pages.h"

struct cgx_cuda_peers {
    unsigned count;
    struct peer {
        CUdeviceptr memory; /* memory that holds the peer's mirrors; 0: not open */
        bool linked;
        void *segment;  /* the peer's segment, registered with the driver; NULL: none */
        size_t front;   /* offset of the mirror in MEMORY, or of the staging memory in SEGMENT */
        uint64_t bytes; /* size of the mirror or of the staging memory */
    } peers[];
};

/* ---- memory that local peers open ---- */

/* Writes a cookie in front of the mirrors. A peer that opens other memory in its place finds no
 * such cookie. */
static enum cgx_status mark_mirrors(struct cgx_cuda_work *work)
{
    CUstream up = work->streams[CGX_STREAM_UP];
    uint64_t cookie = cgx_cookie();
    enum cgx_status status =
        CGX_CUDA_CALL(cuMemcpyHtoDAsync, work->memory->address, &cookie, sizeof cookie, up);

    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamSynchronize, up);
    if (status != CGX_OK)
        return status;
    work->cookie = cookie;
    work->memory->may_be_open = true;
    return CGX_OK;
}

enum cgx_status cgx_cuda_export(struct cgx_backend *backend, struct cgx_cuda_handle *to)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    CUipcMemHandle handle;
    enum cgx_status status;

    if (backend == cgx_backend_host())
        return CGX_ERR_INVALID;
    if (work->exports != CGX_OK)
        return work->exports;
    if (cgx_cuda_work_enter(work) != CGX_OK)
        return CGX_ERR_DEVICE;
    status = CGX_CUDA_CALL(cuIpcGetMemHandle, &handle, work->memory->address);
    if (status == CGX_OK && work->cookie == 0)
        status = mark_mirrors(work);
    /* Names the device by its bus id, since processes may see different devices or number them
     * differently. */
    if (!cgx_cuda_bus_id(to->bus_id, sizeof to->bus_id))
        to->bus_id[0] = '\0';
    cgx_cuda_leave();
    if (status != CGX_OK)
        return CGX_ERR_DEVICE;
    to->cookie = work->cookie;
    to->bytes = work->mirrors;
    _Static_assert(sizeof to->ipc == sizeof handle, "a handle is that of the driver");
    memcpy(to->ipc, &handle, sizeof handle);
    return CGX_OK;
}

uint64_t cgx_cuda_exported_cookie(const struct cgx_cuda_work *all)
{
    while (all && all->cookie == 0)
        all = all->next;
    return all ? all->cookie : 0;
}

/* ---- opened memory of local peers ---- */

/* Memory that may still be pinned is never unmapped: the driver would treat later memory at its
 * address as pinned. */
static void close_peer(const struct peer *peer)
{
    if (peer->memory)
        CGX_CUDA_CALL(cuIpcCloseMemHandle, peer->memory);
    if (peer->segment && CGX_CUDA_CALL(cuMemHostUnregister, peer->segment) == CGX_OK)
        munmap(peer->segment, peer->front + peer->bytes);
}

void cgx_cuda_work_disconnect(struct cgx_cuda_work *work)
{
    struct cgx_cuda_peers *peers = work->peers;
    bool entered = peers && cgx_cuda_work_enter(work) == CGX_OK;

    for (unsigned i = 0; entered && i < peers->count; i++)
        close_peer(&peers->peers[i]);
    if (entered)
        cgx_cuda_leave();
    free(peers);
    work->peers = NULL;
    work->base.connection = CGX_PULL_NONE;
}

/* Offset, in front of the mirrors, of a cookie that is pulled. */
#define PULLED (CGX_CUDA_MIRRORS / 2)

/* Whether a copy, as for payloads, finds COOKIE at PLACE. Copies between devices may lose bytes, as
 * behind some IOMMUs, without an error from the driver. */
static bool has_cookie(const struct cgx_cuda_work *work, const struct cgx_cuda_place *place,
                       uint64_t cookie)
{
    CUdeviceptr pulled = work->memory->address + PULLED;
    CUstream up = work->streams[CGX_STREAM_UP];
    uint64_t found = 0;

    /* The cookie of an earlier connection may still be there. */
    return CGX_CUDA_CALL(cuMemcpyHtoDAsync, pulled, &found, sizeof found, up) == CGX_OK &&
           cgx_cuda_copy(work, pulled, place, sizeof cookie) == CGX_OK &&
           CGX_CUDA_CALL(cuMemcpyDtoHAsync, &found, pulled, sizeof found, up) == CGX_OK &&
           CGX_CUDA_CALL(cuStreamSynchronize, up) == CGX_OK && found == cookie;
}

/* Whether a kernel finds COOKIE at MEMORY too. Sums read linked memory in place; if only copies
 * reach the memory, by a detour, kernels would read other bytes. */
static bool is_read_by_kernels(struct cgx_cuda_work *work, CUdeviceptr memory, uint64_t cookie)
{
    const struct cgx_strided run = {(const void *)(uintptr_t)memory, sizeof cookie, 0, 1};
    unsigned char found[sizeof cookie];

    return work->base.ops->read(&work->base, &run, found) == CGX_OK &&
           memcmp(found, &cookie, sizeof cookie) == 0;
}

/* Whether the device at BUS_ID is the current one or connected to it by NVLink, the only link with
 * native atomics. False if this process may not see the device (CUDA_VISIBLE_DEVICES). The driver
 * is not asked where opened memory is, since it may name the current device. */
static bool is_linked(const char *bus_id)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    CUdevice here, there;
    int linked;

    if (cuda->cuCtxGetDevice(&here) != CUDA_SUCCESS ||
        cuda->cuDeviceGetByPCIBusId(&there, bus_id) != CUDA_SUCCESS)
        return false;
    return there == here ||
           (cuda->cuDeviceGetP2PAttribute(&linked, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                          here, there) == CUDA_SUCCESS &&
            linked);
}

/* WORK's context must be current. */
static bool open_mirror(struct cgx_cuda_work *work, const struct cgx_cuda_handle *from,
                        struct peer *peer)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;

    if (from->cookie == 0)
        return false;
    memcpy(&handle, from->ipc, sizeof handle);
    if (CGX_CUDA_CALL(cuIpcOpenMemHandle, &memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) !=
        CGX_OK)
        return false;
    *peer = (struct peer){.memory = memory, .front = CGX_CUDA_MIRRORS, .bytes = from->bytes};
    if (!has_cookie(work, &(struct cgx_cuda_place){.device = memory}, from->cookie))
        return false;
    peer->linked = is_linked(from->bus_id) && is_read_by_kernels(work, memory, from->cookie);
    return true;
}

/* Whether memory can be registered read-only on the current device. Most drivers do not support
 * that on machines with PCIe, and pin only pages that the process may write. */
static bool registers_read_only(void)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    CUdevice device;
    int value = 0;

    return cuda->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
           cuda->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
                                      device) == CUDA_SUCCESS &&
           value != 0;
}

/* The device gets its own mapping, so that the processor's mapping stays read-only. */
static bool register_segment(const struct cgx_cuda_work *work,
                             const struct cgx_peer_segment *segment, struct peer *peer)
{
    bool read_only = registers_read_only();
    unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | (read_only ? CU_MEMHOSTREGISTER_READ_ONLY : 0);
    void *memory =
        segment->memory ? cgx_pages_again(segment->memory, segment->bytes, !read_only) : NULL;

    if (!memory)
        return false;
    if (CGX_CUDA_CALL(cuMemHostRegister, memory, segment->bytes, flags) != CGX_OK) {
        munmap(memory, segment->bytes);
        return false;
    }
    *peer = (struct peer){
        .segment = memory, .front = segment->front, .bytes = segment->bytes - segment->front};
    return has_cookie(work, &(struct cgx_cuda_place){.host = memory}, segment->cookie);
}

enum cgx_status cgx_cuda_connect(struct cgx_backend *backend, enum cgx_pull pull,
                                 const struct cgx_cuda_peer *local_peers, unsigned npeers,
                                 unsigned self)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    bool opened = true;

    if (backend == cgx_backend_host() || cgx_cuda_work_enter(work) != CGX_OK)
        return CGX_ERR_INVALID;
    cgx_cuda_work_disconnect(work);
    work->peers = calloc(1, sizeof *work->peers + npeers * sizeof work->peers->peers[0]);
    if (work->peers) {
        work->peers->count = npeers;
        work->base.connection = pull;
    }
    for (unsigned i = 0; work->peers && opened && i < npeers; i++) {
        struct peer *peer = &work->peers->peers[i];

        if (i != self)
            opened = pull == CGX_PULL_DEVICE
                         ? open_mirror(work, &local_peers[i].mirror, peer)
                         : register_segment(work, &local_peers[i].segment, peer);
    }
    if (!opened)
        cgx_cuda_work_disconnect(work);
    cgx_cuda_leave();
    return work->peers ? CGX_OK : opened ? CGX_ERR_NOMEM : CGX_ERR_INVALID;
}

void cgx_cuda_disconnect(struct cgx_cuda_work *all)
{
    for (; all; all = all->next)
        cgx_cuda_work_disconnect(all);
}

bool cgx_cuda_peer_at(const struct cgx_cuda_work *work, unsigned number, size_t offset,
                      size_t bytes, struct cgx_cuda_place *place)
{
    const struct cgx_cuda_peers *peers = work->peers;
    const struct peer *peer = peers && number < peers->count ? &peers->peers[number] : NULL;

    if (!peer || (!peer->memory && !peer->segment) || offset > peer->bytes ||
        bytes > peer->bytes - offset)
        return false;
    *place = (struct cgx_cuda_place){.linked = peer->linked};
    if (peer->memory)
        place->device = peer->memory + peer->front + offset;
    else
        place->host = (const unsigned char *)peer->segment + peer->front + offset;
    return true;
}

void cgx_cuda_withdraw(struct cgx_cuda_work *all, uint64_t cookie)
{
    for (; all; all = all->next) {
        if (all->cookie == cookie)
            all->cookie = 0;
    }
}
