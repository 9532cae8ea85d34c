/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* process_vm_readv */

#include "cuda/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cuda/driver.h"

/* Asks the kernel whether BYTE can be read, since reading might fault. True also if the kernel does
 * not allow the query. */
static bool is_readable(const char *byte)
{
    char copy;
    struct iovec to = {.iov_base = &copy, .iov_len = 1};
    struct iovec from = {.iov_base = (void *)(uintptr_t)byte, .iov_len = 1};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

/* Sets what POINTER says of an address that the driver knows, and *MANAGED. Queries all attributes
 * at once or, if the driver refuses that, one by one. */
static void query_attributes(const struct cgx_cuda *cuda, CUdeviceptr address,
                             struct cgx_pointer *pointer, unsigned *managed)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *places[] = {managed, &pointer->context, &pointer->device, &pointer->start,
                      &pointer->bytes};
    const unsigned count = sizeof places / sizeof *places;
    CUresult code = cuda->cuPointerGetAttributes(count, attributes, places, address);

    if (code != CUDA_SUCCESS) {
        *managed = 0;
        *pointer = (struct cgx_pointer){.memory = CGX_MEMORY_HOST};
    }
    for (unsigned i = 0; code != CUDA_SUCCESS && i < count; i++)
        cuda->cuPointerGetAttribute(places[i], attributes[i], address);
    pointer->known = true;
}

/* Queries the type first: most buffers are ordinary memory, for which the driver has no type, and a
 * query of one attribute is faster. */
struct cgx_pointer cgx_cuda_pointer(const void *address)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    struct cgx_pointer pointer = {.memory = CGX_MEMORY_HOST};
    unsigned type = 0, managed = 0;
    CUresult code;

    if (!cuda)
        return pointer;
    code = cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       (CUdeviceptr)(uintptr_t)address);
    /* If the program's work broke the context, no query succeeds. Memory that the processor cannot
     * read is then taken for device memory. */
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_INVALID_VALUE &&
        code != CUDA_ERROR_NOT_INITIALIZED && !is_readable(address))
        pointer.memory = CGX_MEMORY_DEVICE;
    if (code != CUDA_SUCCESS || type == 0)
        return pointer;
    query_attributes(cuda, (CUdeviceptr)(uintptr_t)address, &pointer, &managed);
    /* The type of managed memory may depend on where it is at the moment. */
    if (managed)
        pointer.memory = CGX_MEMORY_MANAGED;
    else if (type == CU_MEMORYTYPE_DEVICE)
        pointer.memory = CGX_MEMORY_DEVICE;
    return pointer;
}

/* Whether BYTE is mapped: for memory mapped by hand (cuMemMap), the range of an allocation is the
 * reserved address space, which need not be mapped as a whole. Needs no current context. */
static bool is_mapped(const struct cgx_cuda *cuda, const char *byte)
{
    unsigned mapped = 1;
    CUresult code = cuda->cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED,
                                                (CUdeviceptr)(uintptr_t)byte);

    /* The driver may know no pointer where nothing was ever mapped. */
    return code == CUDA_ERROR_INVALID_VALUE ? false : mapped != 0;
}

bool cgx_cuda_reaches(const struct cgx_pointer *pointer, const void *address, size_t bytes)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    const char *first = address;

    if (!cuda || bytes == 0)
        return true;
    if (pointer->memory == CGX_MEMORY_HOST)
        return is_readable(first) && is_readable(first + bytes - 1);
    if (pointer->bytes > 0 && ((size_t)(first - pointer->start) >= pointer->bytes ||
                               bytes > pointer->bytes - (size_t)(first - pointer->start)))
        return false;
    /* Memory without a context is mapped by hand or from a pool, and may end before its range does.
     * If the driver denies the first byte too, which the program uses, its answers are ignored. */
    return !pointer->known || pointer->context || is_mapped(cuda, first + bytes - 1) ||
           !is_mapped(cuda, first);
}

const char *cgx_cuda_build(void)
{
    static char version[16];

    snprintf(version, sizeof version, "%d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return version;
}
