/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Runs of the caller's buffer, copied by one kernel. */
#include <stddef.h>
#include <string.h>

#include "cuda/context.h"
#include "cuda/kernels.h"
#include "cuda/module.h"
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
