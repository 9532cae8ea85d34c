/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Runs of device memory at any places, copied by one kernel. */
#include "cuda/context.h"
#include "cuda/kernels.h"
#include "cuda/module.h"
#include "cuda/pinned_pool.h"

#define WORD sizeof(uint32_t)

/* Fills HOST. */
static enum cgx_status launch(const struct cgx_cuda_module *module, const void *host,
                              struct cgx_kernel_args *args, uint64_t tiles)
{
    void *parameters[] = {args};
    enum cgx_status status =
        CGX_CUDA_CALL(cuLaunchKernel, module->ranges, (unsigned)tiles, 1, 1, CGX_KERNEL_THREADS, 1,
                      1, 0, CU_STREAM_LEGACY, parameters, NULL);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuStreamSynchronize, CU_STREAM_LEGACY);
    if (status != CGX_OK)
        cgx_pinned_abandon(host);
    return status;
}

/* The kernel reads the list of RUNS in the host memory. */
static enum cgx_status pick(const struct cgx_cuda_module *module, void *host, const void *device,
                            const struct cgx_picked *runs)
{
    size_t list = runs->at + cgx_picked_runs(runs);
    struct cgx_kernel_range *ranges = (void *)((char *)host + list);
    uint64_t words = runs->size / WORD, tiles = cgx_kernel_range_tiles(words);
    struct cgx_kernel_args args = {.payload = (void *)(uintptr_t)device,
                                   .nranges = (uint32_t)runs->count};
    CUdeviceptr there;
    enum cgx_status status = CGX_CUDA_CALL(cuMemHostGetDevicePointer, &there, host, 0);

    if (status != CGX_OK)
        return status;
    for (size_t i = 0; i < runs->count; i++)
        ranges[i] = (struct cgx_kernel_range){.offset = runs->offsets[i],
                                              .to = runs->at + i * runs->size,
                                              .words = (uint32_t)words,
                                              .tile = (uint32_t)(i * tiles)};
    args.buffer = (void *)(uintptr_t)there;
    args.ranges = (const void *)(uintptr_t)(there + list);
    return launch(module, host, &args, runs->count * tiles);
}

static bool has_words(const void *device, const struct cgx_picked *runs)
{
    bool has = (uintptr_t)device % WORD == 0 && runs->size % WORD == 0;

    for (size_t i = 0; i < runs->count; i++)
        has = has && runs->offsets[i] % WORD == 0;
    return has;
}

enum cgx_status cgx_pinned_pick(const struct cgx_pointer *where, void *host, const void *device,
                                const struct cgx_picked *runs, bool may_load)
{
    struct cgx_cuda_module *module;
    CUcontext context;
    enum cgx_status status = cgx_cuda_context(where, &context);

    if (status != CGX_OK)
        return status;
    /* A driver that tells no ids of contexts would load the kernels for each call. */
    if (!cgx_cuda()->cuCtxGetId || !has_words(device, runs))
        return CGX_ERR_INVALID;
    status = cgx_cuda_push(context);
    if (status != CGX_OK)
        return status;
    status =
        may_load ? cgx_cuda_module_take(context, &module) : cgx_cuda_module_find(context, &module);
    if (status == CGX_OK) {
        status = pick(module, host, device, runs);
        cgx_cuda_module_give(module, true);
    }
    cgx_cuda_leave();
    return status;
}
