/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/context.h"

#include <stddef.h>

#include "cuda/green.h"

/* Deeper than entries nest: a collective's, that of another backend in it, one more. */
#define MOST_ENTRIES 8

/* What this thread has entered and not left, and its mode before. */
static __thread struct {
    CUcontext contexts[MOST_ENTRIES];
    unsigned depth;
    CUstreamCaptureMode mode;
    bool exchanged;
} entries_here;

/* Whether the entry at DEPTH made another context current than the one before it had. */
static bool changes(unsigned depth)
{
    return depth == 0 || entries_here.contexts[depth] != entries_here.contexts[depth - 1];
}

enum cgx_status cgx_cuda_push(CUcontext context)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    unsigned depth = entries_here.depth;
    enum cgx_status status = CGX_OK;

    if (depth == MOST_ENTRIES)
        return CGX_ERR_DEVICE;
    entries_here.contexts[depth] = context;
    if (changes(depth))
        status = CGX_CUDA_CALL(cuCtxPushCurrent, context);
    if (status != CGX_OK)
        return status;
    if (depth == 0) {
        entries_here.exchanged =
            cgx_cuda()->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
        entries_here.mode = mode;
    }
    entries_here.depth++;
    return CGX_OK;
}

void cgx_cuda_leave(void)
{
    unsigned depth = --entries_here.depth;
    CUcontext context;

    if (depth == 0 && entries_here.exchanged)
        cgx_cuda()->cuThreadExchangeStreamCaptureMode(&entries_here.mode);
    if (changes(depth))
        cgx_cuda()->cuCtxPopCurrent(&context);
}

enum cgx_status cgx_cuda_upload(CUdeviceptr to, const void *from, size_t bytes)
{
    enum cgx_status status = CGX_CUDA_CALL(cuMemcpyHtoD, to, from, bytes);

    /* From pageable memory the copy may return before all has arrived. */
    return status == CGX_OK ? CGX_CUDA_CALL(cuStreamSynchronize, CU_STREAM_LEGACY) : status;
}

/* Of memory of a pool, or mapped by hand, which belongs to a device but to no context. */
static enum cgx_status find_context(CUdevice device, CUcontext *context)
{
    CUdevice current;
    enum cgx_status status;
    unsigned flags;
    int active = 0;

    if (cgx_cuda()->cuCtxGetCurrent(context) == CUDA_SUCCESS && *context &&
        cgx_cuda()->cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device &&
        !cgx_green_is_current())
        return CGX_OK;
    if (cgx_cuda()->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active)
        return CGX_ERR_DEVICE;
    status = CGX_CUDA_CALL(cuDevicePrimaryCtxRetain, context, device);
    /* The program's own use of the primary context keeps it alive: no reference is kept. */
    if (status == CGX_OK)
        cgx_cuda()->cuDevicePrimaryCtxRelease(device);
    return status;
}

enum cgx_status cgx_cuda_context(const struct cgx_pointer *pointer, CUcontext *context)
{
    if (!cgx_cuda() || !pointer->known)
        return CGX_ERR_DEVICE;
    if (!pointer->context)
        return find_context(pointer->device, context);
    *context = pointer->context;
    return CGX_OK;
}

enum cgx_status cgx_cuda_enter(const struct cgx_pointer *pointer)
{
    CUcontext context;
    enum cgx_status status = cgx_cuda_context(pointer, &context);

    return status == CGX_OK ? cgx_cuda_push(context) : status;
}
