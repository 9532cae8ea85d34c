/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Allocations, of device, managed and pinned memory, and host memory of the program that is pinned
 * where it is. */

#define _GNU_SOURCE /* mincore */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"

#define DEVICE_BYTES ((size_t)4 << 30)

static CUresult allocate(struct softcuda_context *context, enum softcuda_memory memory, bool pooled,
                         size_t bytes, void **start)
{
    struct softcuda_allocation made = {.memory = memory,
                                       .pooled = pooled,
                                       .context = pooled ? NULL : context->home,
                                       .maker = context->object.handle,
                                       .device = context->device};

    if (start == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_fails(SOFTCUDA_ALLOC) || bytes > DEVICE_BYTES ||
        (memory != SOFTCUDA_PINNED &&
         bytes > DEVICE_BYTES - softcuda_memory_used(context->device)) ||
        !softcuda_memory_map(&made, bytes) || !softcuda_memory_insert(&made))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *start = made.start;
    return CUDA_SUCCESS;
}

/* Before memory goes, all that may use it is carried out: in the context, or in all of them. */
static CUresult free_from(struct softcuda_context *context, void *start, bool device)
{
    struct softcuda_allocation *allocation;
    enum softcuda_memory memory = softcuda_memory_find(start, 1, &allocation);
    CUresult code;

    if (device ? memory != SOFTCUDA_DEVICE && memory != SOFTCUDA_MANAGED
               : memory != SOFTCUDA_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (allocation->start != start || softcuda_share_is_imported(allocation) ||
        allocation->mapped_by_hand ||
        (memory == SOFTCUDA_MANAGED && allocation->context != context->home) ||
        !softcuda_memory_is_reachable(allocation, context))
        return CUDA_ERROR_INVALID_VALUE;
    if (memory != SOFTCUDA_DEVICE)
        softcuda_stream_drain_all();
    code = softcuda_stream_drain(context);
    if (!softcuda_memory_release(allocation) && code == CUDA_SUCCESS)
        code = context->error = CUDA_ERROR_ILLEGAL_ADDRESS;
    return code;
}

/* ---- the driver's functions ---- */

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS)
        code = allocate(context, SOFTCUDA_DEVICE, false, bytes, (void **)pointer);
    return softcuda_leave(code);
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned flags)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = allocate(context, SOFTCUDA_MANAGED, false, bytes, (void **)pointer);
    return softcuda_leave(code);
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && flags > 7)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = allocate(context, SOFTCUDA_PINNED, false, bytes, pointer);
    return softcuda_leave(code);
}

/* NULL is freed as nothing. */
static CUresult free_call(void *start, bool device)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_SUCCESS;

    if (context && start)
        own = free_from(context, start, device);
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

CUresult cuMemFree(CUdeviceptr pointer)
{
    return free_call((void *)(uintptr_t)pointer, true);
}

CUresult cuMemFreeHost(void *pointer)
{
    return free_call(pointer, false);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && !softcuda_is_device(device))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code == CUDA_SUCCESS)
        *bytes = DEVICE_BYTES;
    return softcuda_leave(code);
}

CUresult cuMemGetInfo(size_t *left, size_t *all)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && (left == NULL || all == NULL))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) {
        *left = DEVICE_BYTES - softcuda_memory_used(context->device);
        *all = DEVICE_BYTES;
    }
    return softcuda_leave(code);
}

/* Memory of the device's pool, which belongs to no context. */
CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && softcuda_stream_find(context, stream) == NULL)
        code = CUDA_ERROR_INVALID_HANDLE;
    if (code == CUDA_SUCCESS)
        code = allocate(context, SOFTCUDA_DEVICE, true, bytes, (void **)pointer);
    return softcuda_leave(code);
}

/* ---- memory that is pinned where it is ---- */

#define PAGE 4096

bool softcuda_registers_read_only(void)
{
    const char *has = getenv("SOFTCUDA_READ_ONLY");

    return has && has[0] == '1';
}

static bool is_mapped(const void *start, size_t bytes)
{
    uintptr_t first = (uintptr_t)start / PAGE, last = ((uintptr_t)start + bytes - 1) / PAGE;
    unsigned char state[64];

    for (; first <= last; first += sizeof state) {
        size_t pages = last - first + 1 < sizeof state ? last - first + 1 : sizeof state;

        if (mincore((void *)(first * PAGE), pages * PAGE, state) != 0)
            return false;
    }
    return true;
}

/* Whether the program may write to all of it. */
static bool is_writable(const void *start, size_t bytes)
{
    uintptr_t next = (uintptr_t)start, end = next + bytes;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], access[5];
    unsigned long from, to;

    while (maps != NULL && next < end && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %4s", &from, &to, access) == 3 && from <= next && next < to &&
            access[1] == 'w')
            next = to;
    }
    if (maps != NULL)
        fclose(maps);
    return next >= end;
}

static CUresult register_range(struct softcuda_context *context, void *start, size_t bytes,
                               bool read_only)
{
    struct softcuda_allocation *allocation = NULL;

    if (start == NULL || bytes == 0 || bytes > INTPTR_MAX || !is_mapped(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_memory_find(start, 1, &allocation) != SOFTCUDA_PAGEABLE)
        return allocation && allocation->memory >= SOFTCUDA_PINNED
                   ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                   : CUDA_ERROR_INVALID_VALUE;
    if (softcuda_memory_find(start, bytes, &allocation) != SOFTCUDA_PAGEABLE)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (!read_only && !is_writable(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (read_only && (softcuda_fails(SOFTCUDA_READ_ONLY) || !softcuda_registers_read_only()))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (softcuda_fails(SOFTCUDA_PIN))
        return CUDA_ERROR_NOT_PERMITTED;
    if (softcuda_fails(SOFTCUDA_ALLOC) || !softcuda_fork_watch())
        return CUDA_ERROR_OUT_OF_MEMORY;
    return softcuda_memory_insert(&(struct softcuda_allocation){.memory = SOFTCUDA_REGISTERED,
                                                                .read_only = read_only,
                                                                .context = context->home,
                                                                .device = context->device,
                                                                .start = start,
                                                                .bytes = bytes})
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostRegister(void *start, size_t bytes, unsigned flags)
{
    const unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && (flags & ~known) != 0)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = register_range(context, start, bytes, (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0);
    return softcuda_leave(code);
}

CUresult cuMemHostUnregister(void *start)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    struct softcuda_allocation *allocation;

    if (context && softcuda_memory_find(start, 1, &allocation) == SOFTCUDA_REGISTERED &&
        allocation->start == start) {
        softcuda_stream_drain_all();
        own = context->error;
        softcuda_memory_release(allocation);
    }
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}
