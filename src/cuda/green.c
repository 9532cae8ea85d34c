/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/green.h"

static __thread struct {
    unsigned depth;
    CUevent event;          /* NULL: there is nothing to wait for ... */
    enum cgx_status status; /* ... or it cannot be */
} caller;

bool cgx_green_is_current(void)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    void *green = NULL;

    return cuda->cuStreamGetGreenCtx &&
           cuda->cuStreamGetGreenCtx(CU_STREAM_LEGACY, &green) == CUDA_SUCCESS && green != NULL;
}

/* Of the current context, which is a green one. */
static enum cgx_status record(CUevent *event)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    CUevent made;
    enum cgx_status status = CGX_CUDA_CALL(cuEventCreate, &made, CU_EVENT_DISABLE_TIMING);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuEventRecord, made, CU_STREAM_LEGACY);
    if (status == CGX_OK)
        *event = made;
    else
        cuda->cuEventDestroy(made);
    return status;
}

void cgx_green_begin(bool wait)
{
    if (caller.depth++ > 0)
        return;
    caller.event = NULL;
    caller.status = wait && cgx_green_is_current() ? record(&caller.event) : CGX_OK;
}

/* The driver keeps an event that is waited for until it has been reached. */
void cgx_green_end(void)
{
    if (--caller.depth == 0 && caller.event)
        cgx_cuda()->cuEventDestroy(caller.event);
}

enum cgx_status cgx_green_order(CUstream stream)
{
    if (!caller.event)
        return caller.status;
    return CGX_CUDA_CALL(cuStreamWaitEvent, stream, caller.event, 0);
}
