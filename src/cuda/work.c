/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/work.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/pinned_pool.h"
#include "util/integers.h"
#include "util/pages.h"

/* The size of a status that kernels write: a cache line, so that it shares none with other data. */
#define STATUS_BYTES 64
#define PAGE 4096
#define ALIGNMENT 256 /* of tables in device memory, in bytes */
/* Of runs that are read. They are copied in whole words: a misaligned one has a word more. */
#define PICKED_BYTES (CGX_READ_RUNS * (CGX_READ_BYTES + sizeof(uint32_t)))

enum cgx_status cgx_cuda_work_enter(const struct cgx_cuda_work *work)
{
    if (work->memory && !cgx_exported_is_there(work->memory))
        return CGX_ERR_DEVICE;
    return cgx_cuda_push(work->context);
}

enum cgx_status cgx_cuda_copy(const struct cgx_cuda_work *work, CUdeviceptr to,
                              const struct cgx_cuda_place *from, size_t bytes)
{
    CUstream up = work->streams[CGX_STREAM_UP];

    return from->device ? CGX_CUDA_CALL(cuMemcpyDtoDAsync, to, from->device, bytes, up)
                        : CGX_CUDA_CALL(cuMemcpyHtoDAsync, to, from->host, bytes, up);
}

static enum cgx_status create_event(CUevent *event, unsigned flags)
{
    return CGX_CUDA_CALL(cuEventCreate, event, CU_EVENT_DISABLE_TIMING | flags);
}

/* Waiting for an event polls or, if ranks share processors, sleeps. */
static enum cgx_status create_streams(struct cgx_cuda_work *work, unsigned slots,
                                      bool shares_processors)
{
    unsigned flags = shares_processors ? CU_EVENT_BLOCKING_SYNC : 0;
    enum cgx_status status = create_event(&work->caller, flags);

    for (int i = 0; status == CGX_OK && i < CGX_STREAMS; i++)
        status = CGX_CUDA_CALL(cuStreamCreate, &work->streams[i], CU_STREAM_NON_BLOCKING);
    for (unsigned i = 0; status == CGX_OK && i < slots * CGX_STREAMS; i++)
        status = create_event(&work->slots[i / CGX_STREAMS].marks[i % CGX_STREAMS].event, flags);
    return status;
}

/* Gets zeroed, pinned memory from the process or, if the driver does not pin that, from the driver.
 */
static enum cgx_status get_control(struct cgx_cuda_work *work)
{
    void *allocated;
    enum cgx_status status;

    work->control = cgx_pages_map(work->control_bytes, -1);
    if (!work->control)
        return CGX_ERR_NOMEM;
    if (cgx_cuda_pin(work->control, work->control_bytes) == CGX_OK)
        return CGX_OK;
    status = CGX_CUDA_CALL(cuMemHostAlloc, &allocated, work->control_bytes,
                           CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (status != CGX_OK)
        return status;
    cgx_pages_unmap(work->control, work->control_bytes);
    work->control = memset(allocated, 0, work->control_bytes);
    work->control_allocated = true;
    return CGX_OK;
}

/* Creates the host side of the tables and the status words, which must be pinned, since kernels
 * write to them. */
static enum cgx_status create_control(struct cgx_cuda_work *work, unsigned slots)
{
    size_t each = STATUS_BYTES + work->table_bytes, tables = slots * CGX_OPERATIONS * each;
    CUdeviceptr there = 0;
    enum cgx_status status;

    work->control_bytes = cgx_round_up(tables + PICKED_BYTES, PAGE);
    status = get_control(work);
    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuMemHostGetDevicePointer, &there, work->control, 0);
    work->picked = work->control + tables;
    work->picked_there = there + tables;
    for (unsigned i = 0; status == CGX_OK && i < slots * CGX_OPERATIONS; i++) {
        struct cgx_cuda_table *table = &work->slots[i / CGX_OPERATIONS].tables[i % CGX_OPERATIONS];

        table->status = (uint32_t *)(void *)(work->control + i * each);
        table->reported = there + i * each;
        table->host = work->control + i * each + STATUS_BYTES;
    }
    return status;
}

static enum cgx_status create_memory(struct cgx_cuda_work *work, const struct cgx_area *area,
                                     unsigned slots)
{
    size_t mirror = cgx_round_up(area->bytes, PAGE),
           table = cgx_round_up(work->table_bytes, ALIGNMENT);
    /* A tile of a piece of variable size takes a byte or more for each element; the last tile of a
     * piece may be smaller. */
    size_t tiles = area->bytes / CGX_KERNEL_TILE + area->pieces;
    CUdeviceptr next;
    size_t bytes = CGX_CUDA_MIRRORS + slots * (mirror + CGX_OPERATIONS * table);
    enum cgx_status status;

    work->marks_bytes = cgx_kernel_marks_bytes(tiles);
    status = cgx_exported_take(work->context, bytes + work->marks_bytes, area->exportable,
                               &work->memory);
    if (status != CGX_OK)
        return status;
    work->mirrors = slots * mirror;
    next = work->memory->address + CGX_CUDA_MIRRORS;
    for (unsigned i = 0; i < slots; i++, next += mirror)
        work->slots[i].mirror = next;
    for (unsigned i = 0; i < slots; i++) {
        for (int j = 0; j < CGX_OPERATIONS; j++, next += table)
            work->slots[i].tables[j].device = next;
    }
    work->marks = next;
    return CGX_OK;
}

/* Staging memory that cannot be pinned (CGX_ERR_DEVICE), or that another context has pinned
 * (CGX_ERR_INVALID), can still be copied. */
static enum cgx_status pin_staging(struct cgx_cuda_slot *slot, size_t bytes)
{
    enum cgx_status status = cgx_cuda_pin(slot->host, cgx_round_up(bytes, PAGE));

    slot->registered = status == CGX_OK;
    if (slot->registered &&
        cgx_cuda()->cuMemHostGetDevicePointer(&slot->there, slot->host, 0) == CUDA_SUCCESS)
        return CGX_OK;
    slot->there = 0;
    return status == CGX_ERR_INVALID ? status : CGX_ERR_DEVICE;
}

/* Creates all resources in WORK's context, which is current. */
static enum cgx_status create_resources(struct cgx_cuda_work *work, const struct cgx_area *area)
{
    unsigned slots = 0;
    enum cgx_status status;

    work->table_bytes = cgx_round_up((area->sources + 1) * sizeof(CUdeviceptr), 16) +
                        cgx_round_up(area->pieces * sizeof(struct cgx_kernel_piece), STATUS_BYTES);
    work->sources = area->sources;
    for (; slots < CGX_SLOTS && area->staging[slots]; slots++) {
        work->slots[slots].host = area->staging[slots];
        work->slots[slots].borrowed = work->borrowed + slots * CGX_CUDA_BORROWED * work->sources;
    }
    status = cgx_cuda_module_take(work->context, &work->module);
    if (status == CGX_OK)
        status = create_streams(work, slots, area->shares_processors);
    if (status == CGX_OK)
        status = create_control(work, slots);
    if (status == CGX_OK)
        status = create_memory(work, area, slots);
    for (unsigned i = 0; status == CGX_OK && i < slots; i++) {
        enum cgx_status pinned = pin_staging(&work->slots[i], area->bytes);

        if (pinned != CGX_OK && work->exports != CGX_ERR_DEVICE)
            work->exports = pinned;
    }
    if (!area->exportable)
        work->exports = CGX_ERR_INVALID;
    return status;
}

static void destroy_event(CUevent event)
{
    if (event)
        cgx_cuda()->cuEventDestroy(event);
}

/* Destroys all resources of WORK. False: some host memory may still be pinned. */
static bool destroy_all(struct cgx_cuda_work *work)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    bool unpinned = true;

    for (unsigned i = 0; i < CGX_SLOTS; i++) {
        for (int j = 0; j < CGX_STREAMS; j++)
            destroy_event(work->slots[i].marks[j].event);
        if (work->slots[i].registered)
            unpinned &= cgx_cuda_unpin(work->slots[i].host);
    }
    cgx_exported_give(work->memory, true);
    if (work->control_allocated)
        cuda->cuMemFreeHost(work->control);
    else if (work->control)
        unpinned &= cgx_cuda_unpin(work->control);
    for (int i = 0; i < CGX_STREAMS; i++) {
        if (work->streams[i])
            cuda->cuStreamDestroy(work->streams[i]);
    }
    destroy_event(work->caller);
    return unpinned;
}

bool cgx_cuda_work_free(struct cgx_cuda_work *work)
{
    bool entered = cgx_cuda_work_enter(work) == CGX_OK, unpinned;

    if (entered) {
        unpinned = destroy_all(work);
    } else {
        unpinned = work->memory && cgx_exported_is_gone(work->memory);
        cgx_exported_give(work->memory, false);
    }
    cgx_cuda_module_give(work->module, entered);
    if (entered)
        cgx_cuda_leave();
    if (unpinned && !work->control_allocated)
        cgx_pages_unmap(work->control, work->control_bytes);
    free(work);
    return unpinned;
}

enum cgx_status cgx_cuda_work_create(CUcontext context, const struct cgx_area *area,
                                     struct cgx_cuda_work **work)
{
    struct cgx_cuda_work *made = calloc(
        1, sizeof *made + CGX_SLOTS * CGX_CUDA_BORROWED * area->sources * sizeof *made->borrowed);
    enum cgx_status status;

    if (!made)
        return CGX_ERR_NOMEM;
    made->context = context;
    status = cgx_cuda_push(context);
    if (status == CGX_OK) {
        status = create_resources(made, area);
        cgx_cuda_leave();
    }
    if (status == CGX_OK)
        *work = made;
    else
        cgx_cuda_work_free(made);
    return status;
}
