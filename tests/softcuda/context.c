/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Contexts. The primary context of a device keeps its handle when it is made anew, as on a real
 * driver, and changes its id. Other contexts have a handle of their own for ever, or with
 * SOFTCUDA_REUSE that of one that has gone. */

#include <stdlib.h>

#include "driver.h"

#define MAX_DEVICES 64
#define MAX_DEPTH 64

static _Thread_local struct {
    CUcontext contexts[MAX_DEPTH];
    int depth;
} stack;

static struct {
    struct softcuda_context *context; /* NULL: never retained */
    unsigned retained;
} primary[MAX_DEVICES];

CUresult softcuda_current(struct softcuda_context **context)
{
    *context = NULL;
    if (stack.depth > 0)
        *context = softcuda_object_find(SOFTCUDA_CONTEXT, stack.contexts[stack.depth - 1]);
    if (*context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if ((*context)->alive)
        return CUDA_SUCCESS;
    *context = NULL;
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool softcuda_is_device(CUdevice device)
{
    return device >= 0 && device < softcuda_devices;
}

static struct softcuda_context *find_alive(CUcontext handle)
{
    struct softcuda_context *context = softcuda_object_find(SOFTCUDA_CONTEXT, handle);

    return context && context->alive ? context : NULL;
}

/* ---- life and death ---- */

static CUresult start(struct softcuda_context *context)
{
    static unsigned long long lives;

    context->streams = NULL;
    context->legacy = softcuda_stream_create(context, true);
    if (context->legacy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->id = ++lives;
    context->error = CUDA_SUCCESS;
    context->alive = true;
    return CUDA_SUCCESS;
}

/* What was queued is not carried out any more. Green contexts go with their primary one. */
static void end(struct softcuda_context *context)
{
    struct softcuda_context *other = NULL;

    context->alive = false;
    while ((other = softcuda_object_next(SOFTCUDA_CONTEXT, other ? other->object.handle : NULL))) {
        if (other->alive && other->home == context)
            end(other);
    }
    softcuda_objects_free(context);
    softcuda_memory_free_all(context);
    context->legacy = context->streams = NULL;
}

/* A context that is not yet alive, or NULL: no memory. */
static struct softcuda_context *make(void)
{
    const char *reuse = getenv("SOFTCUDA_REUSE");
    struct softcuda_context *other = NULL;

    while (reuse && reuse[0] == '1' &&
           (other = softcuda_object_next(SOFTCUDA_CONTEXT, other ? other->object.handle : NULL))) {
        if (!other->alive && !other->primary)
            return other;
    }
    return softcuda_object_create(SOFTCUDA_CONTEXT, sizeof *other, NULL);
}

struct softcuda_context *softcuda_context_split(struct softcuda_context *primary_context)
{
    struct softcuda_context *context = make();

    if (context == NULL)
        return NULL;
    context->device = primary_context->device;
    context->home = primary_context;
    return start(context) == CUDA_SUCCESS ? context : NULL;
}

void softcuda_context_end(struct softcuda_context *context)
{
    end(context);
}

static CUresult push(CUcontext handle)
{
    if (stack.depth == MAX_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack.contexts[stack.depth++] = handle;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *handle, CUdevice device)
{
    struct softcuda_context *context;
    CUresult code;

    if (handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!softcuda_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    context = make();
    if (context == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->device = device;
    context->home = context;
    code = start(context);
    if (code == CUDA_SUCCESS)
        code = push(context->object.handle);
    if (code == CUDA_SUCCESS)
        *handle = context->object.handle;
    else
        end(context);
    return code;
}

/* The header gives the name to a later function. */
#pragma GCC visibility push(default)
#undef cuCtxCreate
CUresult cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device);
#pragma GCC visibility pop

CUresult cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device)
{
    CUresult code = softcuda_enter();

    (void)flags;
    return softcuda_leave(code == CUDA_SUCCESS ? create(handle, device) : code);
}

CUresult cuCtxDestroy(CUcontext handle)
{
    CUresult code = softcuda_enter();
    struct softcuda_context *context = find_alive(handle);

    if (context && !context->primary) {
        end(context);
        if (stack.depth > 0 && stack.contexts[stack.depth - 1] == handle)
            stack.depth--;
    } else if (code == CUDA_SUCCESS) {
        code = CUDA_ERROR_INVALID_CONTEXT;
    }
    return softcuda_leave(code);
}

/* ---- the current one ---- */

CUresult cuCtxGetCurrent(CUcontext *handle)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && handle == NULL)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *handle = stack.depth > 0 ? stack.contexts[stack.depth - 1] : NULL;
    return softcuda_leave(code);
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && handle && find_alive(handle) == NULL)
        code = CUDA_ERROR_INVALID_CONTEXT;
    if (code == CUDA_SUCCESS) {
        stack.depth -= stack.depth > 0;
        if (handle)
            code = push(handle);
    }
    return softcuda_leave(code);
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS)
        code = find_alive(handle) ? push(handle) : CUDA_ERROR_INVALID_CONTEXT;
    return softcuda_leave(code);
}

/* Pops even where the device is lost: what was pushed has to go. */
CUresult cuCtxPopCurrent(CUcontext *handle)
{
    CUresult code = softcuda_enter();

    if (stack.depth > 0) {
        stack.depth--;
        if (handle)
            *handle = stack.contexts[stack.depth];
    } else if (code == CUDA_SUCCESS) {
        code = CUDA_ERROR_INVALID_CONTEXT;
    }
    return softcuda_leave(code);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && device == NULL)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *device = context->device;
    return softcuda_leave(code);
}

#if CUDA_VERSION < 12000
#pragma GCC visibility push(default)
CUresult cuCtxGetId(CUcontext handle, unsigned long long *id);
#pragma GCC visibility pop
#endif
CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    struct softcuda_context *context = NULL;
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && handle)
        context = find_alive(handle);
    else if (code == CUDA_SUCCESS)
        code = softcuda_current(&context);
    if (code == CUDA_SUCCESS && context == NULL)
        code = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (code == CUDA_SUCCESS && id == NULL)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *id = context->id;
    return softcuda_leave(code);
}

CUresult cuCtxSynchronize(void)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS)
        code = softcuda_capture_allows_wait(context);
    return softcuda_leave(code == CUDA_SUCCESS ? softcuda_stream_drain(context) : code);
}

/* ---- primary contexts ---- */

static CUresult retain(CUcontext *handle, CUdevice device)
{
    struct softcuda_context *context;
    CUresult code = CUDA_SUCCESS;

    if (handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!softcuda_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    context = primary[device].context;
    if (context == NULL) {
        context = softcuda_object_create(SOFTCUDA_CONTEXT, sizeof *context, NULL);
        if (context == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        context->device = device;
        context->home = context;
        context->primary = true;
        primary[device].context = context;
    }
    if (!context->alive)
        code = start(context);
    if (code == CUDA_SUCCESS) {
        primary[device].retained++;
        *handle = context->object.handle;
    }
    return code;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice device)
{
    CUresult code = softcuda_enter();

    return softcuda_leave(code == CUDA_SUCCESS ? retain(handle, device) : code);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult code = softcuda_enter(), own = CUDA_SUCCESS;

    if (!softcuda_is_device(device))
        own = CUDA_ERROR_INVALID_DEVICE;
    else if (primary[device].retained == 0)
        own = CUDA_ERROR_INVALID_CONTEXT;
    else if (--primary[device].retained == 0 && primary[device].context->alive)
        end(primary[device].context);
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

/* Those who retained it still have to release it. */
CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult code = softcuda_enter(), own = CUDA_SUCCESS;

    if (!softcuda_is_device(device))
        own = CUDA_ERROR_INVALID_DEVICE;
    else if (primary[device].context && primary[device].context->alive)
        end(primary[device].context);
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && !softcuda_is_device(device))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code == CUDA_SUCCESS && (flags == NULL || active == NULL))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) {
        *flags = 0;
        *active = primary[device].context && primary[device].context->alive;
    }
    return softcuda_leave(code);
}

/* ---- stream capture: event.c; threads have a mode ---- */

/* The mode is the thread's, and no matter of a device: it is exchanged though one is lost. */
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static __thread CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode before = current;
    CUresult code = softcuda_enter();

    if (code == CUDA_ERROR_NOT_INITIALIZED)
        return softcuda_leave(code);
    current = *mode;
    *mode = before;
    return softcuda_leave(CUDA_SUCCESS);
}
