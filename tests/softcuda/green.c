/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Green contexts: they have streams of their own, the default one included, which no other
 * context's wait for, and the memory of the primary context. How many processors they were given
 * makes no difference. */

#include <string.h>

#include "driver.h"

#if CUDA_VERSION >= 12040

static struct softcuda_context *find(CUgreenCtx handle)
{
    struct softcuda_context *context = softcuda_object_find(SOFTCUDA_CONTEXT, handle);

    return context && context->alive && context->home != context ? context : NULL;
}

/* ---- resources: all processors, and as many of them as are asked for ---- */

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    int processors = 0;
    CUresult code =
        cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);

    if (code == CUDA_SUCCESS && (resource == NULL || type != CU_DEV_RESOURCE_TYPE_SM))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code != CUDA_SUCCESS)
        return code;
    memset(resource, 0, sizeof *resource);
    resource->type = type;
    resource->sm.smCount = (unsigned)processors;
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *groups, unsigned *count,
                                     const CUdevResource *all, CUdevResource *left, unsigned flags,
                                     unsigned least)
{
    if (count == NULL || *count != 1 || all == NULL || groups == NULL || flags != 0 || least == 0 ||
        least > all->sm.smCount)
        return CUDA_ERROR_INVALID_VALUE;
    *groups = *all;
    groups->sm.smCount = least;
    if (left) {
        *left = *all;
        left->sm.smCount -= least;
    }
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *description, CUdevResource *resources,
                                   unsigned count)
{
    if (description == NULL || resources == NULL || count != 1)
        return CUDA_ERROR_INVALID_VALUE;
    *description = (CUdevResourceDesc)(uintptr_t)resources->sm.smCount;
    return CUDA_SUCCESS;
}

/* ---- contexts ---- */

/* As long as it lives, so does the primary context. */
CUresult cuGreenCtxCreate(CUgreenCtx *handle, CUdevResourceDesc description, CUdevice device,
                          unsigned flags)
{
    struct softcuda_context *green = NULL;
    CUcontext primary;
    CUresult code = cuDevicePrimaryCtxRetain(&primary, device);

    if (code != CUDA_SUCCESS)
        return code;
    code = softcuda_enter();
    if (code == CUDA_SUCCESS &&
        (handle == NULL || description == NULL || flags != CU_GREEN_CTX_DEFAULT_STREAM))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        green = softcuda_context_split(softcuda_object_find(SOFTCUDA_CONTEXT, primary));
    if (code == CUDA_SUCCESS && green == NULL)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS)
        *handle = (CUgreenCtx)green->object.handle;
    softcuda_leave(code);
    if (code != CUDA_SUCCESS)
        cuDevicePrimaryCtxRelease(device);
    return code;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
    CUresult code = softcuda_enter();
    struct softcuda_context *green = find(handle);
    CUdevice device = 0;

    if (code == CUDA_SUCCESS && green == NULL)
        code = CUDA_ERROR_INVALID_CONTEXT;
    if (code == CUDA_SUCCESS) {
        device = green->device;
        softcuda_context_end(green);
    }
    softcuda_leave(code);
    return code == CUDA_SUCCESS ? cuDevicePrimaryCtxRelease(device) : code;
}

CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx handle)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && context == NULL)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && find(handle) == NULL)
        code = CUDA_ERROR_INVALID_CONTEXT;
    if (code == CUDA_SUCCESS)
        *context = (CUcontext)handle;
    return softcuda_leave(code);
}

CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *green)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);
    struct softcuda_stream *stream = context ? softcuda_stream_find(context, handle) : NULL;

    if (code == CUDA_SUCCESS && green == NULL)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && stream == NULL)
        code = CUDA_ERROR_INVALID_HANDLE;
    if (code == CUDA_SUCCESS) {
        context = stream->object.context;
        *green = context->home == context ? NULL : (CUgreenCtx)context->object.handle;
    }
    return softcuda_leave(code);
}

#endif
