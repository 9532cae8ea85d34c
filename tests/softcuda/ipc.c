/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Handles of memory for other processes. */

#include <string.h>
#include <unistd.h>

#include "driver.h"

_Static_assert(sizeof(struct softcuda_offer) <= sizeof(CUipcMemHandle), "a handle has 64 bytes");

static CUresult get(CUipcMemHandle *handle, void *start)
{
    struct softcuda_allocation *allocation;
    struct softcuda_offer offer;

    if (handle == NULL || softcuda_memory_find(start, 1, &allocation) != SOFTCUDA_DEVICE ||
        allocation->start != start || allocation->context == NULL ||
        softcuda_share_is_imported(allocation))
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_fails(SOFTCUDA_IPC))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!softcuda_share_export(allocation, &offer))
        return CUDA_ERROR_OUT_OF_MEMORY;
    offer.device = softcuda_hidden + allocation->device;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &offer, sizeof offer);
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? get(handle, (void *)(uintptr_t)pointer) : code);
}

/* The device that memory of OFFER is on; of one that is hidden from this process, to which a driver
 * may answer anything, that of CONTEXT. */
static CUdevice device_of(const struct softcuda_context *context,
                          const struct softcuda_offer *offer)
{
    CUdevice device = (CUdevice)offer->device - softcuda_hidden;

    return softcuda_is_device(device) ? device : context->device;
}

/* In one context of a process at a time. */
static CUresult open_offer(struct softcuda_context *context, const struct softcuda_offer *offer,
                           CUdeviceptr *pointer)
{
    const struct softcuda_allocation *same = softcuda_share_find(offer->number);
    struct softcuda_allocation opened = {
        .memory = SOFTCUDA_DEVICE, .context = context->home, .device = device_of(context, offer)};
    CUresult code;

    if (offer->process == (uint64_t)getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (same)
        return softcuda_share_is_gone(same) ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_ALREADY_MAPPED;
    code = softcuda_share_import(&opened, offer);
    if (code == CUDA_SUCCESS && !softcuda_memory_insert(&opened)) {
        softcuda_share_end(&opened);
        code = CUDA_ERROR_MAP_FAILED;
    }
    if (code == CUDA_SUCCESS)
        *pointer = (CUdeviceptr)(uintptr_t)opened.start;
    return code;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
    struct softcuda_context *context;
    struct softcuda_offer offer;
    CUresult code = softcuda_enter_context(&context);

    memcpy(&offer, &handle, sizeof offer);
    if (code == CUDA_SUCCESS && (pointer == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && softcuda_fails(SOFTCUDA_IPC))
        code = CUDA_ERROR_NOT_SUPPORTED;
    if (code == CUDA_SUCCESS)
        code = open_offer(context, &offer, pointer);
    return softcuda_leave(code);
}

/* In the context that opened it. */
static CUresult close_in(struct softcuda_context *context, void *start)
{
    struct softcuda_allocation *allocation;
    CUresult code;

    if (softcuda_memory_find(start, 1, &allocation) != SOFTCUDA_DEVICE ||
        allocation->start != start || !softcuda_share_is_imported(allocation) ||
        allocation->context != context->home)
        return CUDA_ERROR_INVALID_VALUE;
    code = softcuda_stream_drain(context);
    if (!softcuda_memory_release(allocation) && code == CUDA_SUCCESS)
        code = context->error = CUDA_ERROR_ILLEGAL_ADDRESS;
    return code;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_SUCCESS;

    if (context)
        own = close_in(context, (void *)(uintptr_t)pointer);
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}
