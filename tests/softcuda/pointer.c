/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is known of a pointer. */

#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* A pointer may be asked about in no context, but not in one that is broken. */
static CUresult enter_any_context(void)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_CONTEXT_IS_DESTROYED
               ? CUDA_SUCCESS
               : code;
}

static bool is_host(const struct softcuda_allocation *allocation)
{
    return allocation->memory >= SOFTCUDA_PINNED;
}

/* Of memory mapped by hand the range is all of the address space that was reserved. */
static CUresult get_range(const struct softcuda_allocation *allocation, CUdeviceptr *first,
                          size_t *bytes)
{
    const unsigned char *start = allocation->start;
    size_t length = allocation->bytes;

    if (allocation->mapped_by_hand)
        softcuda_mapped_range(allocation->start, &start, &length);
    if (first)
        *first = (CUdeviceptr)(uintptr_t)start;
    if (bytes)
        *bytes = length;
    return CUDA_SUCCESS;
}

/* Of address space where nothing is mapped the driver knows that alone. */
static CUresult get_mapped(const void *address, bool mapped, int *data)
{
    const unsigned char *start;
    size_t bytes;

    if (!mapped && !softcuda_mapped_range(address, &start, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *data = mapped;
    return CUDA_SUCCESS;
}

/* What is told of the context of memory; of a green one, as long as it lives, only if asked for. */
static CUcontext context_of(const struct softcuda_allocation *allocation)
{
    const char *green = getenv("SOFTCUDA_GREEN_MEMORY");
    const struct softcuda_context *maker =
        softcuda_object_find(SOFTCUDA_CONTEXT, allocation->maker);

    if (allocation->context == NULL)
        return NULL;
    if (green && green[0] == '1' && maker && maker->alive)
        return maker->object.handle;
    return allocation->context->object.handle;
}

static CUresult get(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    struct softcuda_allocation *allocation = NULL;
    void *address = (void *)(uintptr_t)pointer;

    softcuda_counts.attributes++;
    softcuda_memory_find(address, 1, &allocation);
    if (data && attribute == CU_POINTER_ATTRIBUTE_MAPPED)
        return get_mapped(address, allocation != NULL, data);
    if (data == NULL || allocation == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = context_of(allocation);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = is_host(allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = allocation->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = allocation->memory == SOFTCUDA_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = allocation->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return get_range(allocation, data, NULL);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return get_range(allocation, NULL, data);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    CUresult code = enter_any_context();

    return softcuda_leave(code == CUDA_SUCCESS ? get(data, attribute, pointer) : code);
}

/* An attribute that POINTER has not is zero. */
static CUresult get_all(unsigned count, const CUpointer_attribute *attributes, void *const *data,
                        CUdeviceptr pointer)
{
    static const struct {
        CUpointer_attribute attribute;
        size_t bytes;
    } known[] = {
        {CU_POINTER_ATTRIBUTE_CONTEXT, sizeof(CUcontext)},
        {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, sizeof(unsigned)},
        {CU_POINTER_ATTRIBUTE_BUFFER_ID, sizeof(unsigned long long)},
        {CU_POINTER_ATTRIBUTE_IS_MANAGED, sizeof(unsigned)},
        {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, sizeof(int)},
        {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, sizeof(CUdeviceptr)},
        {CU_POINTER_ATTRIBUTE_RANGE_SIZE, sizeof(size_t)},
        {CU_POINTER_ATTRIBUTE_MAPPED, sizeof(int)},
    };

    if (count == 0 || attributes == NULL || data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        size_t k = 0, end = sizeof known / sizeof known[0];

        while (k < end && known[k].attribute != attributes[i])
            k++;
        if (k == end || data[i] == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        if (get(data[i], attributes[i], pointer) != CUDA_SUCCESS)
            memset(data[i], 0, known[k].bytes);
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr pointer)
{
    CUresult code = enter_any_context();

    return softcuda_leave(code == CUDA_SUCCESS ? get_all(count, attributes, data, pointer) : code);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *pointer, void *host, unsigned flags)
{
    struct softcuda_allocation *allocation = NULL;
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    softcuda_memory_find(host, 1, &allocation);
    if (code == CUDA_SUCCESS &&
        (pointer == NULL || flags != 0 || allocation == NULL || !is_host(allocation)))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *pointer = (CUdeviceptr)(uintptr_t)host;
    return softcuda_leave(code);
}
