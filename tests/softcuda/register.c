/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Host memory of the program that is pinned where it is. */

#define _GNU_SOURCE /* mincore */

#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"

#define PAGE 4096

static bool is_mapped(const void *start, size_t bytes)
{
    uintptr_t first = (uintptr_t)start / PAGE, last = ((uintptr_t)start + bytes - 1) / PAGE;
    unsigned char state[64];

    for (; first <= last; first += sizeof state) {
        size_t pages = last - first + 1 < sizeof state ? last - first + 1 : sizeof state;

        if (mincore((void *)(first * PAGE), pages * PAGE, state) != 0)
            return false;
    }
    return true;
}

static CUresult register_range(struct softcuda_context *context, void *start, size_t bytes)
{
    struct softcuda_allocation *allocation = NULL;

    if (start == NULL || bytes == 0 || bytes > INTPTR_MAX || !is_mapped(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_memory_find(start, 1, &allocation) != SOFTCUDA_PAGEABLE)
        return allocation && allocation->memory >= SOFTCUDA_PINNED
                   ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                   : CUDA_ERROR_INVALID_VALUE;
    if (softcuda_memory_find(start, bytes, &allocation) != SOFTCUDA_PAGEABLE)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (softcuda_fails(SOFTCUDA_PIN))
        return CUDA_ERROR_NOT_PERMITTED;
    if (softcuda_fails(SOFTCUDA_ALLOC) || !softcuda_fork_watch())
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation->memory = SOFTCUDA_REGISTERED;
    allocation->context = context->home;
    allocation->device = context->device;
    allocation->start = start;
    allocation->bytes = bytes;
    if (!softcuda_memory_insert(allocation)) {
        free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *start, size_t bytes, unsigned flags)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code == CUDA_SUCCESS && flags > 3) /* no I/O memory, nothing read-only */
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = register_range(context, start, bytes);
    return softcuda_leave(code);
}

CUresult cuMemHostUnregister(void *start)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    struct softcuda_allocation *allocation;

    if (context && softcuda_memory_find(start, 1, &allocation) == SOFTCUDA_REGISTERED &&
        allocation->start == start) {
        softcuda_stream_drain_all();
        own = context->error;
        softcuda_memory_release(allocation);
    }
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}
