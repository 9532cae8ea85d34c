/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/context.h"

#include <stddef.h>

/* Whether the calling thread's current context is green. */
static bool current_is_green(void)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    void *green = NULL;

    return cuda->cuStreamGetGreenCtx &&
           cuda->cuStreamGetGreenCtx(CU_STREAM_LEGACY, &green) == CUDA_SUCCESS && green;
}

/* The work that was queued on the default stream of a green context when this thread entered. */
static __thread struct {
    CUevent event;          /* NULL: nothing to wait for */
    enum cgx_status status; /* not CGX_OK: the queued work cannot be waited for */
} queued;

static void record_queued(void)
{
    queued.event = NULL;
    queued.status = CGX_OK;
    if (!current_is_green())
        return;
    queued.status = CGX_CUDA_CALL(cuEventCreate, &queued.event, CU_EVENT_DISABLE_TIMING);
    if (queued.status == CGX_OK)
        queued.status = CGX_CUDA_CALL(cuEventRecord, queued.event, CU_STREAM_LEGACY);
}

/* Streams may still wait for the event: the driver keeps it until it has completed. */
static void forget_queued(void)
{
    if (queued.event)
        cgx_cuda()->cuEventDestroy(queued.event);
}

/* A green context may have no default stream, on which nothing is queued then. */
enum cgx_status cgx_green_order(CUstream stream)
{
    if (!queued.event)
        return queued.status;
    if (queued.status != CGX_OK)
        return queued.status == CGX_ERR_DEVICE ? CGX_OK : queued.status;
    return CGX_CUDA_CALL(cuStreamWaitEvent, stream, queued.event, 0);
}

/* Entries never nest as deep: a collective's, one of another backend within it, and one more. */
#define MOST_ENTRIES 8

/* The contexts that this thread has entered and not left, and its capture mode before. */
static __thread struct {
    CUcontext contexts[MOST_ENTRIES];
    unsigned depth;
    CUstreamCaptureMode mode;
    bool exchanged;
} entries_here;

/* Whether the entry at DEPTH pushed its context. It did not if the entry before it has the same
 * context. */
static bool pushes_context(unsigned depth)
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
    if (depth == 0)
        record_queued();
    entries_here.contexts[depth] = context;
    if (pushes_context(depth))
        status = CGX_CUDA_CALL(cuCtxPushCurrent, context);
    if (status != CGX_OK) {
        if (depth == 0)
            forget_queued();
        return status;
    }
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
    if (pushes_context(depth))
        cgx_cuda()->cuCtxPopCurrent(&context);
    if (depth == 0)
        forget_queued();
}

/* Holds no reference, since the program's own use of the primary context keeps it alive. */
static enum cgx_status find_primary(CUdevice device, CUcontext *context)
{
    enum cgx_status status;
    unsigned flags;
    int active = 0;

    if (cgx_cuda()->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active)
        return CGX_ERR_DEVICE;
    status = CGX_CUDA_CALL(cuDevicePrimaryCtxRetain, context, device);
    if (status == CGX_OK)
        cgx_cuda()->cuDevicePrimaryCtxRelease(device);
    return status;
}

/* Finds a context for memory from a pool or mapped by hand, which belongs to a device but to no
 * context. */
static enum cgx_status find_context(CUdevice device, CUcontext *context)
{
    CUdevice current;

    if (cgx_cuda()->cuCtxGetCurrent(context) == CUDA_SUCCESS && *context &&
        cgx_cuda()->cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device &&
        !current_is_green())
        return CGX_OK;
    return find_primary(device, context);
}

/* The context that this thread has last found not to be green. A green context may get the handle
 * of one that has gone, but not its id, and drivers that have green contexts know ids. */
static __thread struct {
    CUcontext context;
    unsigned long long id;
} plain;

/* Whether CONTEXT is green. Only a stream shows that, so CONTEXT becomes current for the query. */
static bool is_green(CUcontext context)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    unsigned long long id;
    bool identified, green;

    /* The library is never in a green context itself. */
    if (!cuda->cuStreamGetGreenCtx ||
        (entries_here.depth > 0 && entries_here.contexts[entries_here.depth - 1] == context))
        return false;
    identified = cuda->cuCtxGetId && cuda->cuCtxGetId(context, &id) == CUDA_SUCCESS;
    if ((identified && plain.context == context && plain.id == id) ||
        cuda->cuCtxPushCurrent(context) != CUDA_SUCCESS)
        return false;
    green = current_is_green();
    if (!green && identified) {
        plain.context = context;
        plain.id = id;
    }
    cuda->cuCtxPopCurrent(&context);
    return green;
}

enum cgx_status cgx_cuda_context(const struct cgx_pointer *pointer, CUcontext *context)
{
    if (!cgx_cuda() || !pointer->known)
        return CGX_ERR_DEVICE;
    if (!pointer->context)
        return find_context(pointer->device, context);
    if (is_green(pointer->context))
        return find_primary(pointer->device, context);
    *context = pointer->context;
    return CGX_OK;
}

enum cgx_status cgx_cuda_enter(const struct cgx_pointer *pointer)
{
    CUcontext context;
    enum cgx_status status = cgx_cuda_context(pointer, &context);

    if (status == CGX_OK)
        status = cgx_cuda_push(context);
    if (status != CGX_OK)
        return status;
    status = cgx_green_order(CU_STREAM_LEGACY);
    if (status != CGX_OK)
        cgx_cuda_leave();
    return status;
}

bool cgx_cuda_bus_id(char *bus_id, int size)
{
    CUdevice device;

    return CGX_CUDA_CALL(cuCtxGetDevice, &device) == CGX_OK &&
           CGX_CUDA_CALL(cuDeviceGetPCIBusId, bus_id, size, device) == CGX_OK;
}
