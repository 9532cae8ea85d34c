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

/* Asks the kernel rather than the memory. Where it may not say, the answer is yes. */
static bool is_readable(const char *byte)
{
    char copy;
    struct iovec to = {.iov_base = &copy, .iov_len = 1};
    struct iovec from = {.iov_base = (void *)(uintptr_t)byte, .iov_len = 1};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

static enum cgx_memory ask(const struct cgx_cuda *cuda, const void *pointer)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)pointer;
    unsigned type = 0, managed = 0;
    CUresult code = cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);

    /* Memory that CUDA does not know, or CUDA is not initialised. */
    if (code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_NOT_INITIALIZED)
        return CGX_MEMORY_HOST;
    /* In a context that work of the program broke, no question is answered any more. */
    if (code != CUDA_SUCCESS)
        return is_readable(pointer) ? CGX_MEMORY_HOST : CGX_MEMORY_DEVICE;
    /* Managed memory may be reported as either type, by where it is at the moment. */
    if (cuda->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) ==
            CUDA_SUCCESS &&
        managed)
        return CGX_MEMORY_MANAGED;
    return type == CU_MEMORYTYPE_DEVICE ? CGX_MEMORY_DEVICE : CGX_MEMORY_HOST;
}

enum cgx_memory cgx_cuda_memory(const void *pointer)
{
    const struct cgx_cuda *cuda = cgx_cuda();

    return cuda ? ask(cuda, pointer) : CGX_MEMORY_HOST;
}

/* Memory that was mapped by hand (cuMemMap) belongs to none, and may be made of many pieces. */
static bool has_context(const struct cgx_cuda *cuda, CUdeviceptr address)
{
    CUcontext context = NULL;

    return cuda->cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address) ==
               CUDA_SUCCESS &&
           context != NULL;
}

bool cgx_cuda_reaches(const void *pointer, size_t bytes)
{
    const struct cgx_cuda *cuda = cgx_cuda();
    const CUdeviceptr first = (CUdeviceptr)(uintptr_t)pointer;
    CUdeviceptr address = first, base;
    size_t size;

    if (cuda == NULL || bytes == 0)
        return true;
    if (ask(cuda, pointer) == CGX_MEMORY_HOST)
        return is_readable(pointer) && is_readable((const char *)pointer + bytes - 1);
    for (;;) {
        if (cuda->cuMemGetAddressRange(&base, &size, address) != CUDA_SUCCESS)
            return address == first;
        if (address - base >= size)
            return false;
        size -= address - base;
        if (bytes <= size)
            return true;
        if (has_context(cuda, address))
            return false;
        address += size;
        bytes -= size;
    }
}

const char *cgx_cuda_build(void)
{
    static char version[16];

    snprintf(version, sizeof version, "%d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return version;
}
