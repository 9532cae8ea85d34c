/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/holding.h"

#include <stdlib.h>

#include "cuda/context.h"
#include "cuda/exported.h"

struct device_holding {
    struct cgx_holding base;
    struct cgx_exported *memory; /* never offered to others */
};

static void drop(struct cgx_holding *holding)
{
    struct device_holding *mine = (struct device_holding *)(void *)holding;
    struct cgx_exported *memory = mine->memory;
    bool entered = cgx_exported_is_there(memory) && cgx_cuda_push(memory->context) == CGX_OK;

    cgx_exported_give(memory, entered);
    if (entered)
        cgx_cuda_leave();
    free(mine);
}

static const struct device_holding *device_holding(const struct cgx_holding *holding)
{
    return holding->drop == drop ? (const struct device_holding *)(const void *)holding : NULL;
}

bool cgx_cuda_holds(const struct cgx_cuda_work *work, const struct cgx_holding *holding)
{
    const struct device_holding *mine = device_holding(holding);

    return mine && mine->memory->context == work->context && cgx_exported_is_there(mine->memory);
}

/* Another backend may be next to use the memory, on streams of its own: it is waited for. */
static enum cgx_status set_to_zero(const struct cgx_cuda_work *work, CUdeviceptr at, size_t bytes)
{
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    enum cgx_status status = CGX_CUDA_CALL(cuMemsetD8Async, at, 0, bytes, compute);

    return status == CGX_OK ? CGX_CUDA_CALL(cuStreamSynchronize, compute) : status;
}

enum cgx_status cgx_cuda_keep(const struct cgx_cuda_work *work, size_t bytes,
                              struct cgx_holding **holding)
{
    struct device_holding *made = calloc(1, sizeof *made);
    enum cgx_status status;

    if (!made)
        return CGX_ERR_NOMEM;
    status = cgx_cuda_work_enter(work);
    if (status != CGX_OK)
        goto free_made;
    status = cgx_exported_take(work->context, bytes, false, &made->memory);
    if (status == CGX_OK) {
        status = set_to_zero(work, made->memory->address, bytes);
        if (status != CGX_OK)
            cgx_exported_give(made->memory, true);
    }
    cgx_cuda_leave();
    if (status != CGX_OK)
        goto free_made;
    made->base = (struct cgx_holding){(void *)(uintptr_t)made->memory->address, bytes, drop};
    *holding = &made->base;
    return CGX_OK;
free_made:
    free(made);
    return status;
}

enum cgx_status cgx_cuda_clear(const struct cgx_cuda_work *work, struct cgx_holding *holding)
{
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status != CGX_OK)
        return status;
    status = set_to_zero(work, (CUdeviceptr)(uintptr_t)holding->at, holding->bytes);
    cgx_cuda_leave();
    return status;
}
