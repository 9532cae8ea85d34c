/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/pinned_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda/context.h"
#include "topo/machine.h"
#include "util/integers.h"
#include "util/log.h"
#include "util/pages.h"

/* Block sizes are multiples of this, so that they are whole pages and few different sizes. */
#define GRAIN_BYTES ((size_t)64 << 10)

struct block {
    struct block *next;
    void *memory;
    size_t bytes;
    bool taken;
};

/* All blocks, the last created or returned first. */
static struct block *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool cgx_pinned_possible(void)
{
    return cgx_cuda() != NULL;
}

static CUdeviceptr address_of(const void *device)
{
    return (CUdeviceptr)(uintptr_t)device;
}

/* ---- pinning, near the device ---- */

static void log_unknown(const char *bus_id)
{
    static atomic_bool logged;

    if (!atomic_exchange(&logged, true))
        cgx_log(CGX_LOG_DEBUG,
                "staging memory is not bound: no NUMA node is known to be near GPU %s", bus_id);
}

/* Asks the system for memory near the device of the current context, for pages that are about to be
 * pinned: copies across NUMA nodes take longer and slow down others. It is only a hint. Pages that
 * were touched before, as by calls on host buffers, stay in place. If the node is full, hwloc is
 * missing, the device's location is unknown or the system refuses, pages may be anywhere.
 *
 * On a machine with one NUMA node the only cost is one look at its processors (4 ms on two cores).
 * Other machines are also searched for devices once (up to some 100 ms on large servers, in the
 * first call that pins memory), and then each call costs a system call. */
static void bind_numa(void *memory, size_t bytes)
{
    static atomic_bool refused; /* whether the system refuses all nodes alike, as in containers */
    char bus_id[CGX_TOPO_BUS_ID_BYTES];
    int node;

    if (atomic_load(&refused) ||
        cgx_topo_machine(cgx_topo_here(CGX_TOPO_PROCESSORS)).numa_nodes < 2 ||
        !cgx_cuda_bus_id(bus_id, sizeof bus_id))
        return;
    node = cgx_topo_node_near(cgx_topo_here(CGX_TOPO_DEVICES), bus_id);
    if (node == CGX_TOPO_UNKNOWN)
        log_unknown(bus_id);
    else if (cgx_topo_bind(memory, bytes, (unsigned)node) != CGX_OK)
        atomic_store(&refused, true);
}

/* Whether CODE says that the driver refuses to pin. Other errors come from a broken context, or
 * from memory that is pinned already. */
static bool is_refusal(CUresult code)
{
    switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return true;
    default:
        return false;
    }
}

static void log_refused(CUresult code)
{
    static atomic_bool logged;
    const char *name = "an error without a name";

    if (atomic_exchange(&logged, true))
        return;
    cgx_cuda()->cuGetErrorName(code, &name);
    cgx_log(CGX_LOG_WARN,
            "the CUDA driver does not pin memory of this process (cuMemHostRegister: %s): sums of "
            "buffers in GPU memory are slower; containers and virtual machines may forbid it, and "
            "so do GPUs in confidential mode",
            name);
}

enum cgx_status cgx_cuda_pin(void *memory, size_t bytes)
{
    enum cgx_status status;
    CUresult code;

    bind_numa(memory, bytes);
    code = cgx_cuda()->cuMemHostRegister(
        memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (is_refusal(code))
        log_refused(code);
    status = cgx_cuda_status(code, "cuMemHostRegister");
    return code == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CGX_ERR_INVALID : status;
}

bool cgx_cuda_unpin(void *memory)
{
    CUresult code = cgx_cuda()->cuMemHostUnregister(memory);

    return code == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ||
           cgx_cuda_status(code, "cuMemHostUnregister") == CGX_OK;
}

/* ---- blocks; a context is current if one could be entered ---- */

/* Returns CUDA_SUCCESS if BLOCK is pinned, CUDA_ERROR_INVALID_VALUE if it is not. The driver is
 * queried each time, since pages are unpinned when the context that pinned them goes. */
static CUresult query_pinned(const struct block *block)
{
    unsigned type;

    return cgx_cuda()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                             address_of(block->memory));
}

/* A block that the driver refuses to pin is used unpinned. A block stays near the device for which
 * it was first pinned: processes with several devices are rare, and only speed depends on it. */
static void pin_block(const struct block *block)
{
    if (query_pinned(block) != CUDA_SUCCESS)
        cgx_cuda_pin(block->memory, block->bytes);
}

/* Unpins and frees BLOCK. False: its pages may still be pinned, so BLOCK stays. */
static bool destroy_block(struct block *block)
{
    if (query_pinned(block) != CUDA_ERROR_INVALID_VALUE && !cgx_cuda_unpin(block->memory))
        return false;
    cgx_pages_unmap(block->memory, block->bytes);
    free(block);
    return true;
}

/* ---- the list; the caller holds the lock ---- */

static void push_block(struct block *block)
{
    block->next = blocks;
    blocks = block;
}

static struct block *create_block(size_t bytes)
{
    struct block *block = calloc(1, sizeof *block);

    if (!block)
        return NULL;
    block->bytes = cgx_round_up(bytes, GRAIN_BYTES);
    if (block->bytes >= bytes)
        block->memory = cgx_pages_map(block->bytes, -1);
    if (!block->memory) {
        free(block);
        return NULL;
    }
    push_block(block);
    return block;
}

/* The smallest free block that is large enough, or NULL. */
static struct block *find_free(size_t bytes)
{
    struct block *best = NULL;

    for (struct block *block = blocks; block; block = block->next)
        if (!block->taken && block->bytes >= bytes && (!best || block->bytes < best->bytes))
            best = block;
    return best;
}

/* Takes the free blocks that exceed the limits off the list, the last used ones staying, and
 * returns them as a list. */
static struct block *unlink_excess(void)
{
    struct block *excess = NULL, **link = &blocks, *block;
    size_t bytes = 0, count = 0;

    while ((block = *link) != NULL) {
        if (!block->taken &&
            (count == CGX_PINNED_KEPT_BLOCKS || block->bytes > CGX_PINNED_KEPT_BYTES - bytes)) {
            *link = block->next;
            block->next = excess;
            excess = block;
            continue;
        }
        if (!block->taken) {
            count++;
            bytes += block->bytes;
        }
        link = &block->next;
    }
    return excess;
}

/* ---- interface ---- */

enum cgx_status cgx_pinned_take(const struct cgx_pointer *where, size_t bytes, void **memory)
{
    struct block *block;
    enum cgx_status status = cgx_cuda_enter(where);

    if (status != CGX_OK)
        return status;
    pthread_mutex_lock(&lock);
    block = find_free(bytes);
    if (!block)
        block = create_block(bytes);
    if (block)
        block->taken = true;
    pthread_mutex_unlock(&lock);
    if (block) {
        pin_block(block);
        *memory = block->memory;
    } else {
        status = CGX_ERR_NOMEM;
    }
    cgx_cuda_leave();
    return status;
}

void cgx_pinned_give(const struct cgx_pointer *where, void *memory)
{
    struct block **link = &blocks, *block, *excess, *next;
    bool entered;

    pthread_mutex_lock(&lock);
    while ((*link)->memory != memory)
        link = &(*link)->next;
    block = *link;
    *link = block->next;
    block->taken = false;
    push_block(block);
    excess = unlink_excess();
    pthread_mutex_unlock(&lock);
    if (!excess)
        return;
    entered = cgx_cuda_enter(where) == CGX_OK;
    for (; excess; excess = next) {
        next = excess->next;
        if (destroy_block(excess))
            continue;
        pthread_mutex_lock(&lock);
        push_block(excess);
        pthread_mutex_unlock(&lock);
    }
    if (entered)
        cgx_cuda_leave();
}

enum cgx_status cgx_pinned_wait(const struct cgx_pointer *where)
{
    enum cgx_status status = cgx_cuda_enter(where);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuStreamSynchronize, CU_STREAM_LEGACY);
    cgx_cuda_leave();
    return status;
}

enum cgx_status cgx_pinned_fetch(const struct cgx_pointer *where, void *host, const void *device,
                                 size_t bytes)
{
    enum cgx_status status = cgx_cuda_enter(where);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuMemcpyDtoH, host, address_of(device), bytes);
    cgx_cuda_leave();
    return status;
}

enum cgx_status cgx_pinned_gather(const struct cgx_pointer *where, void *host,
                                  const struct cgx_strided *runs)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = address_of(runs->at),
                                .srcPitch = runs->stride,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = host,
                                .dstPitch = runs->bytes,
                                .WidthInBytes = runs->bytes,
                                .Height = runs->count};
    enum cgx_status status = cgx_cuda_enter(where);
    bool refused;

    if (status != CGX_OK)
        return status;
    /* A driver may refuse rows that are too narrow, as of two bytes, or too far apart. */
    refused = CGX_CUDA_CALL(cuMemcpy2DUnaligned, &copy) != CGX_OK;
    for (size_t i = 0; refused && status == CGX_OK && i < runs->count; i++)
        status = cgx_pinned_fetch(where, (char *)host + i * runs->bytes,
                                  (const char *)runs->at + i * runs->stride, runs->bytes);
    cgx_cuda_leave();
    return status;
}

enum cgx_status cgx_pinned_store(const struct cgx_pointer *where, void *device, const void *host,
                                 size_t bytes)
{
    enum cgx_status status = cgx_cuda_enter(where);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuMemcpyHtoD, address_of(device), host, bytes);
    /* A copy from pageable memory may return before all data has arrived. */
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamSynchronize, CU_STREAM_LEGACY);
    cgx_cuda_leave();
    return status;
}
