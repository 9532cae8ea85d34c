/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Allocations: device, managed and pinned memory. */

#include <stdlib.h>

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
