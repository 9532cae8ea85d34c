/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gpu_probe.h"

#define MIB ((size_t)1 << 20)

/* All that the driver says of POINTER. What it does not set keeps a value that it never sets. */
static void ask(const char *what, CUdeviceptr pointer)
{
    unsigned type = 99, managed = 99;
    int ordinal = -9;
    CUcontext unset = (CUcontext)(uintptr_t)1, context = unset;
    unsigned long long buffer = 0;
    CUdeviceptr base = pointer, start = pointer;
    size_t size = 0, length = 0;
    int mapped = -9;
    CUresult of_type =
        probe.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
    CUresult of_managed =
        probe.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
    CUresult of_context =
        probe.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer);
    CUresult of_ordinal =
        probe.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
    CUresult of_buffer =
        probe.cuPointerGetAttribute(&buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
    CUresult of_range = probe.cuMemGetAddressRange(&base, &size, pointer);
    CUresult of_start =
        probe.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer);
    CUresult of_length =
        probe.cuPointerGetAttribute(&length, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer);
    CUresult of_mapped = probe.cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, pointer);

    probe_say("kind of %s: type %u (%s), managed %u (%s), context %s (%s), ordinal %d (%s), buffer "
              "%llu (%s), range +%lld of %zu (%s)",
              what, type, probe_name(of_type), managed, probe_name(of_managed),
              context == probe.context ? "ours"
              : context == NULL        ? "none"
              : context == unset       ? "unset"
                                       : "another",
              probe_name(of_context), ordinal, probe_name(of_ordinal), buffer,
              probe_name(of_buffer), (long long)(pointer - base), size, probe_name(of_range));
    probe_say("range of %s by attributes: +%lld (%s) of %zu (%s), mapped %d (%s)", what,
              (long long)(pointer - start), probe_name(of_start), length, probe_name(of_length),
              mapped, probe_name(of_mapped));
}

static CUdeviceptr address_of(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

/* Whether the system lets this process read POINTER. */
static const char *read_by_system(CUdeviceptr pointer)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)pointer, 1};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 ? "readable" : strerror(errno);
}

static void ask_plain(void)
{
    CUdeviceptr little = 0;

    ask("cuMemAlloc", probe.memory + 4096);
    probe.cuMemAlloc(&little, 1000);
    ask("cuMemAlloc of 1000 bytes (is the range 1000 or rounded?)", little);
    probe_say("process_vm_readv of device memory: %s", read_by_system(little));
    probe_say("process_vm_readv of host memory: %s", read_by_system(address_of(probe.heap)));
    probe.cuMemFree(little);
    ask("the same, freed", little);
    probe_say("process_vm_readv of freed device memory: %s", read_by_system(little));
    ask("malloc", address_of(probe.heap));
    ask("the stack", address_of(&little));
    if (probe.pinned != NULL)
        ask("cuMemHostAlloc", address_of(probe.pinned));
}

static void ask_others(void)
{
    CUdeviceptr managed = 0, pool = 0;
    CUipcMemHandle handle;

    if (probe.cuMemAllocManaged != NULL &&
        probe.cuMemAllocManaged(&managed, 2 * MIB, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        ask("cuMemAllocManaged", managed);
        probe.cuMemFree(managed);
    }
    if (probe.cuMemAllocAsync != NULL &&
        probe.cuMemAllocAsync(&pool, 4 * MIB, probe.blocking) == CUDA_SUCCESS) {
        probe.cuStreamSynchronize(probe.blocking);
        ask("cuMemAllocAsync", pool + 4096);
        probe_say("cuIpcGetMemHandle of pool memory: %s",
                  probe_name(probe.cuIpcGetMemHandle(&handle, pool)));
    }
}

/* Two pieces of 2 MiB in a range of 8, as PyTorch's expandable segments are. */
static void ask_mapped(void)
{
    const CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = property.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle pieces[2];
    CUdeviceptr range = 0;

    if (probe.cuMemCreate == NULL || probe.cuMemAddressReserve == NULL || probe.cuMemMap == NULL ||
        probe.cuMemSetAccess == NULL)
        return;
    if (probe.cuMemAddressReserve(&range, 8 * MIB, 0, 0, 0) != CUDA_SUCCESS)
        return;
    for (size_t i = 0; i < 2; i++) {
        if (probe.cuMemCreate(&pieces[i], 2 * MIB, &property, 0) != CUDA_SUCCESS ||
            probe.cuMemMap(range + i * 2 * MIB, 2 * MIB, 0, pieces[i], 0) != CUDA_SUCCESS)
            return;
    }
    if (probe.cuMemSetAccess(range, 4 * MIB, &access, 1) != CUDA_SUCCESS)
        return;
    ask("the 1st piece of 2 MiB mapped by hand", range + 4096);
    ask("the 2nd", range + 3 * MIB);
    ask("an address reserved but not mapped", range + 6 * MIB);
}

static void *ask_without_context(void *unused)
{
    CUcontext current = (CUcontext)(uintptr_t)1;

    (void)unused;
    probe.cuCtxGetCurrent(&current);
    probe_say("context of a new thread: %s", current == NULL ? "none" : "one");
    ask("cuMemAlloc, in a thread without a context", probe.memory);
    ask("malloc, in a thread without a context", address_of(probe.heap));
    return NULL;
}

void probe_kinds(void)
{
    pthread_t thread;

    ask_plain();
    ask_others();
    ask_mapped();
    if (pthread_create(&thread, NULL, ask_without_context, NULL) == 0)
        pthread_join(thread, NULL);
}
