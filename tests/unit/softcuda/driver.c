/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The contexts, handles and memory of the software CUDA driver. */

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "cuda/driver.h"
#include "unit/lib/softcuda_helpers.h"

enum { BYTES = 1000 };

static CUcontext context;
static CUdeviceptr memory; /* BYTES */

/* ---- the start ---- */

static int init_without_devices(void)
{
    setenv("SOFTCUDA_DEVICES", "0", 1);
    return cuInit(0) != CUDA_ERROR_NO_DEVICE;
}

static int init_with_failures(void)
{
    CUdeviceptr pointer;
    bool failed;

    setenv("SOFTCUDA_FAIL", "copy:1,alloc:2+", 1);
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
        cuMemAlloc(&pointer, 4) != CUDA_SUCCESS)
        return 1;
    failed = cuMemAlloc(&pointer, 4) == CUDA_ERROR_OUT_OF_MEMORY &&
             cuMemAlloc(&pointer, 4) == CUDA_ERROR_OUT_OF_MEMORY &&
             cuMemsetD8(pointer, 0, 4) == CUDA_ERROR_UNKNOWN;
    return !failed;
}

static int init_with_nonsense(void)
{
    setenv("SOFTCUDA_FAIL", "alloc:2x", 1);
    return cuInit(0) != CUDA_ERROR_INVALID_VALUE;
}

static void test_init(void)
{
    int count = 0;

    ok(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED, "nothing works before cuInit");
    ok(returns(init_without_devices, 0), "SOFTCUDA_DEVICES=0: there is no device");
    ok(returns(init_with_failures, 0), "SOFTCUDA_FAIL makes operations fail");
    ok(returns(init_with_nonsense, 0), "SOFTCUDA_FAIL that makes no sense is an error");
    ok(cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 2,
       "there are two devices");
}

#define STRING(name) #name
#define EXPANDED(name) STRING(name)

static void test_entries(void)
{
    static const char *const names[] = {
#define NAME(name) EXPANDED(name),
        CGX_CUDA_REQUIRED(NAME)
#undef NAME
    };
    unsigned missing = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (dlsym(RTLD_DEFAULT, names[i]) == NULL) {
            diag("%s is missing", names[i]);
            missing++;
        }
    }
    ok(missing == 0, "the driver has all functions that the library calls");
}

/* ---- contexts ---- */

static void *current_of_thread(void *unused)
{
    CUcontext current = context;

    (void)unused;
    must(cuCtxGetCurrent(&current));
    return current;
}

static void test_current(void)
{
    CUcontext second, current;
    CUdevice device;
    pthread_t thread;
    void *other;

    ok(cuMemAlloc(&memory, 4) == CUDA_ERROR_INVALID_CONTEXT, "memory wants a current context");
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuCtxCreate_v2(&second, 0, 1));
    must(cuCtxGetDevice(&device));
    ok(device == 1, "a new context is current");
    if (pthread_create(&thread, NULL, current_of_thread, NULL) != 0)
        bail_out("no threads");
    pthread_join(thread, &other);
    ok(other == NULL, "each thread has current contexts of its own");
    must(cuCtxPopCurrent(&current));
    must(cuCtxPushCurrent(second));
    must(cuCtxPushCurrent(context));
    must(cuCtxDestroy(second));
    must(cuCtxGetDevice(&device));
    ok(device == 0, "contexts are stacked");
    must(cuCtxPopCurrent(NULL));
    ok(cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED,
       "one that was destroyed may still be current");
    must(cuCtxPopCurrent(NULL));
    must(cuCtxGetCurrent(&current));
    ok(current == context && cuCtxPushCurrent(second) == CUDA_ERROR_INVALID_CONTEXT,
       "but cannot be made so");
}

static void test_primary(void)
{
    unsigned long long before, after;
    CUcontext first, again;
    CUdeviceptr pointer;
    unsigned flags;
    int active;

    must(cuDevicePrimaryCtxRetain(&first, 1));
    must(cuCtxPushCurrent(first));
    must(cuMemAlloc(&pointer, 4));
    must(cuCtxGetId(first, &before));
    must(cuDevicePrimaryCtxReset(1));
    must(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ok(!active && cuMemFree(pointer) == CUDA_ERROR_CONTEXT_IS_DESTROYED && live() == 0,
       "a primary context is reset with all that is in it");
    must(cuDevicePrimaryCtxRetain(&again, 1));
    must(cuCtxGetId(again, &after));
    ok(again == first && before != after, "made anew it has another id behind the same handle");
    must(cuDevicePrimaryCtxRelease(1));
    must(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ok(active, "it stays until all have released it");
    must(cuDevicePrimaryCtxRelease(1));
    must(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ok(!active && cuDevicePrimaryCtxRelease(1) == CUDA_ERROR_INVALID_CONTEXT, "and no longer");
    must(cuCtxPopCurrent(NULL));
}

/* A destroyed context takes all with it; what it leaves are handles that are none. */
static void test_destroyed_context(void)
{
    unsigned long long before = live();
    CUcontext doomed;
    CUdeviceptr pointer;
    CUfunction function;
    CUmodule module;
    CUstream stream;
    CUevent event;
    void *host, *registered = malloc(64);

    must(cuCtxCreate_v2(&doomed, 0, 0));
    must(cuMemAlloc(&pointer, 64));
    must(cuMemAllocHost(&host, 64));
    must(cuMemHostRegister(registered, 64, 0));
    must(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    must(cuEventCreate(&event, CU_EVENT_DEFAULT));
    must(cuModuleLoadData(&module, image));
    must(cuModuleGetFunction(&function, module, "softcuda_test_add"));
    must(cuMemcpyDtoHAsync(host, pointer, 64, stream));
    must(cuEventRecord(event, stream));
    ok(live() == before + 5, "what is live is counted, but modules");
    must(cuCtxDestroy(doomed));
    ok(live() == before, "a context goes with all that is in it");
    ok(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE &&
           cuEventSynchronize(event) == CUDA_ERROR_INVALID_HANDLE &&
           cuModuleGetFunction(&function, module, "x") == CUDA_ERROR_INVALID_HANDLE &&
           cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) ==
               CUDA_ERROR_INVALID_HANDLE &&
           cuMemFree(pointer) == CUDA_ERROR_INVALID_VALUE &&
           cuMemFreeHost(host) == CUDA_ERROR_INVALID_VALUE &&
           cuMemHostUnregister(registered) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED &&
           cuCtxDestroy(doomed) == CUDA_ERROR_INVALID_CONTEXT,
       "its handles and pointers give errors");
    free(registered);
}

/* ---- memory ---- */

static int read_device(void)
{
    return 0 * *(volatile char *)(uintptr_t)memory;
}

static int read_freed_host(void)
{
    void *host;

    must(cuMemAllocHost(&host, 64));
    must(cuMemFreeHost(host));
    return 0 * *(volatile char *)host;
}

static void test_access(void)
{
    unsigned char byte = 0;
    CUdeviceptr managed;

    must(cuMemAlloc(&memory, BYTES));
    must(cuMemsetD8(memory, 1, BYTES));
    must(cuMemcpyDtoH(&byte, memory + BYTES - 1, 1));
    ok(byte == 1 && dies(read_device), "the program cannot touch device memory");
    ok(dies(read_freed_host), "nor pinned memory that was freed");
    must(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    memset((void *)(uintptr_t)managed, 2, BYTES);
    must(cuMemcpyDtoH(&byte, managed + BYTES - 1, 1));
    ok(byte == 2, "it can touch managed memory");
    must(cuMemFree(managed));
}

/* Several at once, of memory and of what CUDA does not know. */
static void test_attributes(void)
{
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    CUcontext owner = NULL;
    unsigned type = 0;
    void *on_host = &owner;
    CUdeviceptr start = 0;
    size_t bytes = 0;
    void *values[] = {&owner, &type, &on_host, &start, &bytes};

    must(cuPointerGetAttributes(5, names, values, memory + 7));
    ok(owner == context && type == CU_MEMORYTYPE_DEVICE && on_host == NULL && start == memory &&
           bytes == BYTES,
       "a pointer has several attributes at once, and no address on the host");
    must(cuPointerGetAttributes(5, names, values, (CUdeviceptr)(uintptr_t)&type));
    ok(owner == NULL && type == 0 && start == 0 && bytes == 0,
       "those of a pointer that is unknown are zero");
    names[4] = (CUpointer_attribute)999;
    ok(cuPointerGetAttributes(5, names, values, memory) == CUDA_ERROR_INVALID_VALUE &&
           cuPointerGetAttributes(0, names, values, memory) == CUDA_ERROR_INVALID_VALUE,
       "an attribute that there is not is refused");
}

static void test_ranges(void)
{
    char host[BYTES + 1];
    CUdeviceptr base, freed, next;
    CUcontext owner;
    unsigned type = 0, managed = 1;
    size_t bytes;

    must(cuMemGetAddressRange(&base, &bytes, memory + BYTES - 1));
    ok(base == memory && bytes == BYTES && memory % 256 == 0, "the range of an address is exact");
    ok(cuMemGetAddressRange(&base, &bytes, memory + BYTES) == CUDA_ERROR_NOT_FOUND &&
           cuMemGetAddressRange(&base, &bytes, memory - 1) == CUDA_ERROR_NOT_FOUND,
       "beside it is nothing");
    must(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory + 7));
    must(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 7));
    must(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory + 7));
    ok(owner == context && type == CU_MEMORYTYPE_DEVICE && !managed, "a pointer has attributes");
    test_attributes();
    must(cuMemAlloc(&freed, BYTES));
    must(cuMemFree(freed));
    must(cuMemAlloc(&next, BYTES));
    ok(next != freed, "addresses are never given out again");
    must(cuMemFree(next));
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, freed) ==
               CUDA_ERROR_INVALID_VALUE &&
           cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 (CUdeviceptr)(uintptr_t)host) == CUDA_ERROR_INVALID_VALUE,
       "a pointer that was freed or is unknown has none");
    ok(cuMemcpyDtoH(host, memory, BYTES + 1) == CUDA_ERROR_INVALID_VALUE &&
           cuMemcpyHtoD(memory + 1, host, BYTES) == CUDA_ERROR_INVALID_VALUE &&
           cuMemcpyDtoH(host, freed, 1) == CUDA_ERROR_INVALID_VALUE &&
           cuMemsetD8(memory, 0, BYTES + 1) == CUDA_ERROR_INVALID_VALUE,
       "copies stay within an allocation");
    ok(cuMemFree(memory + 256) == CUDA_ERROR_INVALID_VALUE, "memory is freed by its first address");
    ok(cuMemAlloc(&next, (size_t)1 << 40) == CUDA_ERROR_OUT_OF_MEMORY &&
           cuMemAlloc(&next, 0) == CUDA_ERROR_INVALID_VALUE,
       "there is an end to memory");
}

static void test_register(void)
{
    char *host = malloc(BYTES);
    unsigned type = 0;

    must(cuMemHostRegister(host, BYTES - 100, CU_MEMHOSTREGISTER_PORTABLE));
    ok(cuMemHostRegister(host + BYTES - 101, 101, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED &&
           cuMemHostRegister(host + BYTES - 100, 100, 0) == CUDA_SUCCESS,
       "registered ranges do not overlap");
    must(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               (CUdeviceptr)(uintptr_t)host));
    ok(type == CU_MEMORYTYPE_HOST, "registered memory is known as the host's");
    ok(cuMemHostUnregister(host + 1) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED &&
           cuMemHostUnregister(host) == CUDA_SUCCESS &&
           cuMemHostUnregister(host) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED &&
           cuMemHostUnregister(host + BYTES - 100) == CUDA_SUCCESS,
       "it is unregistered by its first address, once");
    free(host);
}

static bool has_read_only(void)
{
    int value = -1;

    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 0));
    return value == 1;
}

static void test_read_only(void)
{
    char *host = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char back = 0;

    if (host == MAP_FAILED)
        bail_out("no memory");
    host[7] = 'c';
    mprotect(host, BYTES, PROT_READ);
    ok(cuMemHostRegister(host, BYTES, 0) == CUDA_ERROR_INVALID_VALUE,
       "what the program may not write to is not registered for writing");
    ok(cuMemHostRegister(host, BYTES, CU_MEMHOSTREGISTER_READ_ONLY) == CUDA_ERROR_NOT_SUPPORTED &&
           !has_read_only(),
       "nor for reading alone, which drivers for PCIe machines do not have");
    setenv("SOFTCUDA_READ_ONLY", "1", 1);
    ok(has_read_only(), "some say that they have it");
    softcuda_fail(SOFTCUDA_READ_ONLY, 1, false);
    ok(cuMemHostRegister(host, BYTES, CU_MEMHOSTREGISTER_READ_ONLY) == CUDA_ERROR_NOT_SUPPORTED &&
           cuMemHostRegister(host, BYTES, CU_MEMHOSTREGISTER_READ_ONLY) == CUDA_SUCCESS,
       "these do so, unless that is to fail");
    must(cuMemcpyHtoD(memory, host + 7, 1));
    must(cuMemcpyDtoH(&back, memory, 1));
    ok(back == 'c' && cuMemcpyDtoH(host, memory, 1) == CUDA_ERROR_INVALID_VALUE,
       "it is copied from, and not to");
    must(cuMemHostUnregister(host));
    munmap(host, BYTES);
    unsetenv("SOFTCUDA_READ_ONLY");
}

int main(void)
{
    test_entries();
    test_init();
    test_current();
    test_primary();
    test_destroyed_context();
    test_access();
    test_ranges();
    test_register();
    test_read_only();
    must(cuCtxDestroy(context));
    ok(live() == 0, "nothing is left");
    return done_testing();
}
