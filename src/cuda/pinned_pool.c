/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/pinned_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda/context.h"
#include "cuda/host_memory.h"
#include "util/integers.h"
#include "util/pages.h"

/* Block sizes are multiples of this, so that they are whole pages and few different sizes. */
#define GRAIN_BYTES ((size_t)64 << 10)

struct block {
    struct block *next;
    void *memory;
    size_t bytes;
    bool taken, abandoned;
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
    if (query_pinned(block) == CUDA_SUCCESS)
        return;
    cgx_cuda_bind_numa(block->memory, block->bytes);
    cgx_cuda_status(cgx_cuda_pin(block->memory, block->bytes, CU_MEMHOSTREGISTER_DEVICEMAP),
                    "cuMemHostRegister");
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

static void unlink_block(const struct block *block)
{
    struct block **link = &blocks;

    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
}

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
    struct block *block, *excess, *next;
    bool entered;

    pthread_mutex_lock(&lock);
    for (block = blocks; block->memory != memory; block = block->next)
        ;
    if (block->abandoned) {
        pthread_mutex_unlock(&lock);
        return;
    }
    unlink_block(block);
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

void cgx_pinned_abandon(const void *host)
{
    pthread_mutex_lock(&lock);
    for (struct block *block = blocks; block; block = block->next)
        if ((uintptr_t)host - (uintptr_t)block->memory < block->bytes)
            block->abandoned = true;
    pthread_mutex_unlock(&lock);
}

enum cgx_status cgx_pinned_wait(const struct cgx_pointer *where)
{
    enum cgx_status status = cgx_cuda_enter(where);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuCtxSynchronize);
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

/* Copies row by row on the legacy default stream; each row takes 2 us. */
static enum cgx_status gather_rows(const CUDA_MEMCPY2D *copy)
{
    enum cgx_status status = CGX_OK;

    for (size_t row = 0; status == CGX_OK && row < copy->Height; row++)
        status = CGX_CUDA_CALL(cuMemcpyDtoHAsync, (char *)copy->dstHost + row * copy->dstPitch,
                               copy->srcDevice + row * copy->srcPitch, copy->WidthInBytes,
                               CU_STREAM_LEGACY);
    if (CGX_CUDA_CALL(cuStreamSynchronize, CU_STREAM_LEGACY) == CGX_OK)
        return status;
    cgx_pinned_abandon(copy->dstHost);
    return CGX_ERR_DEVICE;
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

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuMemcpy2DUnaligned, &copy);
    /* A driver may refuse rows that are too narrow, as of two bytes, or too far apart. */
    if (status != CGX_OK)
        status = gather_rows(&copy);
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
