/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Runs of device memory at any places, copied by one kernel. */
#include <stddef.h>
#include <string.h>

#include "cuda/context.h"
#include "cuda/kernels.h"
#include "cuda/module.h"
#include "cuda/pinned_pool.h"
#include "cuda/work.h"

#define WORD sizeof(uint32_t)

/* Lists COUNT ranges of WORDS each, STRIDE bytes apart, which become contiguous. */
static void list_ranges(struct cgx_kernel_range *ranges, size_t count, size_t words, size_t stride)
{
    const size_t tiles = cgx_kernel_range_tiles(words);

    for (size_t i = 0; i < count; i++)
        ranges[i] = (struct cgx_kernel_range){.offset = i * stride,
                                              .to = i * words * WORD,
                                              .words = (uint32_t)words,
                                              .tile = (uint32_t)(i * tiles)};
}

enum cgx_status cgx_cuda_read(const struct cgx_cuda_work *work, const struct cgx_strided *runs,
                              unsigned char *to)
{
    const size_t shift = (uintptr_t)runs->at % WORD,
                 words = (shift + runs->bytes + WORD - 1) / WORD;
    struct cgx_cuda_picked *picked = work->picked;
    struct cgx_kernel_args args = {
        .payload = (unsigned char *)(uintptr_t)runs->at - shift,
        .buffer = (void *)(uintptr_t)(work->picked_there + offsetof(struct cgx_cuda_picked, words)),
        .ranges = (const void *)(uintptr_t)work->picked_there,
        .nranges = (uint32_t)runs->count};
    enum cgx_status status;

    if (runs->count > CGX_READ_RUNS || runs->bytes > CGX_READ_BYTES)
        return CGX_ERR_INVALID;
    list_ranges(picked->ranges, runs->count, words, runs->stride);
    status = cgx_cuda_launch_kernel(work, work->module->ranges, (uint32_t)runs->count, &args);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamSynchronize, work->streams[CGX_STREAM_COMPUTE]);
    for (size_t i = 0; status == CGX_OK && i < runs->count; i++)
        memcpy(to + i * runs->bytes, (unsigned char *)&picked->words[i * words] + shift,
               runs->bytes);
    return status;
}

/* Copies the list of ranges that HOST begins with, and launches the kernel. */
static enum cgx_status launch_ranges(const struct cgx_cuda_module *module, const void *host,
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

/* Lists RUNS in the host memory, where the kernel reads the list. */
static enum cgx_status pick_runs(const struct cgx_cuda_module *module, void *host,
                                 const struct cgx_strided *runs)
{
    const size_t behind = cgx_picked_run_bytes(runs), words = runs->bytes / WORD;
    struct cgx_kernel_args args = {.payload = (void *)(uintptr_t)runs->at,
                                   .nranges = (uint32_t)runs->count};
    CUdeviceptr there;
    enum cgx_status status = CGX_CUDA_CALL(cuMemHostGetDevicePointer, &there, host, 0);

    if (status != CGX_OK)
        return status;
    list_ranges((void *)((char *)host + behind), runs->count, words, runs->stride);
    args.buffer = (void *)(uintptr_t)there;
    args.ranges = (const void *)(uintptr_t)(there + behind);
    return launch_ranges(module, host, &args, runs->count * cgx_kernel_range_tiles(words));
}

enum cgx_status cgx_pinned_pick(const struct cgx_pointer *where, void *host,
                                const struct cgx_strided *runs, bool may_load)
{
    struct cgx_cuda_module *module;
    CUcontext context;
    enum cgx_status status = cgx_cuda_context(where, &context);

    if (status != CGX_OK)
        return status;
    /* The kernels would be loaded for each call if the driver knows no ids of contexts. */
    if (!cgx_cuda()->cuCtxGetId || (uintptr_t)runs->at % WORD != 0 || runs->bytes % WORD != 0)
        return CGX_ERR_INVALID;
    status = cgx_cuda_push(context);
    if (status != CGX_OK)
        return status;
    status =
        may_load ? cgx_cuda_module_take(context, &module) : cgx_cuda_module_find(context, &module);
    if (status == CGX_OK) {
        status = pick_runs(module, host, runs);
        cgx_cuda_module_give(module, true);
    }
    cgx_cuda_leave();
    return status;
}
