/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/green.h"

static __thread struct {
    unsigned depth;
    CUevent event;          /* NULL: there is nothing to wait for */
    enum cgx_status status; /* that it cannot be waited for */
} caller;

bool cgx_green_is_current(void)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    void *green = NULL;

    return cuda->cuStreamGetGreenCtx &&
           cuda->cuStreamGetGreenCtx(CU_STREAM_LEGACY, &green) == CUDA_SUCCESS && green;
}

void cgx_green_begin(void)
{
    if (caller.depth++ > 0)
        return;
    caller.event = NULL;
    caller.status = CGX_OK;
    if (!cgx_green_is_current())
        return;
    caller.status = CGX_CUDA_CALL(cuEventCreate, &caller.event, CU_EVENT_DISABLE_TIMING);
    if (caller.status == CGX_OK)
        caller.status = CGX_CUDA_CALL(cuEventRecord, caller.event, CU_STREAM_LEGACY);
}

/* The driver keeps an event that is waited for until it has been reached. */
void cgx_green_end(void)
{
    if (--caller.depth == 0 && caller.event)
        cgx_cuda()->cuEventDestroy(caller.event);
}

enum cgx_status cgx_green_order(CUstream stream)
{
    if (!caller.event || caller.status != CGX_OK)
        return caller.status;
    return CGX_CUDA_CALL(cuStreamWaitEvent, stream, caller.event, 0);
}
