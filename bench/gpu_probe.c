/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* usage: bench/gpu_probe [FATBIN]
 *
 * Prints what the CUDA driver of this machine answers, see gpu_probe.h, and with FATBIN, the
 * library's src/cuda/kernels.fatbin, how long it takes to load. Takes some seconds; 77: there is no
 * driver or no device. */
#define _GNU_SOURCE

#include "gpu_probe.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STRING(x) #x
#define VERSIONED(x) STRING(x)

struct probe probe;

void probe_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

const char *probe_name(CUresult code)
{
    const char *name = "?";

    probe.cuGetErrorName(code, &name);
    return name;
}

double probe_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a library's exit handler finds, which may run after the driver's own. */
static void ask_at_exit(void)
{
    unsigned type;
    CUresult attribute, push;

    if (probe.context == NULL)
        return;
    attribute = probe.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, probe.memory);
    push = probe.cuCtxPushCurrent(probe.context);
    probe_say(
        "in an exit handler registered before the driver was loaded: cuPointerGetAttribute %s, "
        "cuCtxPushCurrent %s",
        probe_name(attribute), probe_name(push));
}

static bool load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    unsigned type = 0;

    if (library == NULL) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return false;
    }
#define LOAD(name)                                           \
    *(void **)&probe.name = dlsym(library, VERSIONED(name)); \
    if (probe.name == NULL)                                  \
        probe_say("function that the driver lacks: %s", #name);
    PROBE_FUNCTIONS(LOAD)
#undef LOAD
    probe.soft = dlsym(library, "softcuda_count") != NULL;
    probe_say("before cuInit, cuPointerGetAttribute: %s",
              probe_name(probe.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                     (CUdeviceptr)(uintptr_t)&type)));
    if (probe.cuInit(0) != CUDA_SUCCESS || probe.cuDeviceGet(&probe.device, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "no CUDA device\n");
        return false;
    }
    return true;
}

static void tell_device(void)
{
    static const struct {
        const char *name;
        CUdevice_attribute attribute;
    } attributes[] = {
#define ATTRIBUTE(name) {#name, CU_DEVICE_ATTRIBUTE_##name}
        ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
        ATTRIBUTE(HOST_REGISTER_SUPPORTED),
        ATTRIBUTE(READ_ONLY_HOST_REGISTER_SUPPORTED),
        ATTRIBUTE(PAGEABLE_MEMORY_ACCESS),
        ATTRIBUTE(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
        ATTRIBUTE(HOST_NATIVE_ATOMIC_SUPPORTED),
        ATTRIBUTE(MEMORY_POOLS_SUPPORTED),
        ATTRIBUTE(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
        ATTRIBUTE(ASYNC_ENGINE_COUNT),
        ATTRIBUTE(GPU_DIRECT_RDMA_SUPPORTED),
        ATTRIBUTE(DMA_BUF_SUPPORTED),
        ATTRIBUTE(INTEGRATED),
        ATTRIBUTE(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
        ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        ATTRIBUTE(L2_CACHE_SIZE),
        ATTRIBUTE(CLOCK_RATE),
        ATTRIBUTE(COMPUTE_MODE),
#undef ATTRIBUTE
    };
    char name[256] = "?";
    int version = 0;

    probe.cuDriverGetVersion(&version);
    probe.cuDeviceGetName(name, sizeof name, probe.device);
    probe_say("device: %s, driver %d", name, version);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        int value = 0;
        CUresult code = probe.cuDeviceGetAttribute(&value, attributes[i].attribute, probe.device);

        if (code == CUDA_SUCCESS)
            probe_say("attribute %s: %d", attributes[i].name, value);
        else
            probe_say("attribute %s: %s", attributes[i].name, probe_name(code));
    }
}

/* Memory of each kind, and streams. */
static bool prepare(void)
{
    int file = memfd_create("gpu_probe", 0);

    probe.bytes = (size_t)(probe.soft ? 1 : 64) << 20;
    if (probe.cuDevicePrimaryCtxRetain(&probe.context, probe.device) != CUDA_SUCCESS ||
        probe.cuCtxSetCurrent(probe.context) != CUDA_SUCCESS ||
        probe.cuMemAlloc(&probe.memory, probe.bytes) != CUDA_SUCCESS ||
        probe.cuStreamCreate(&probe.blocking, CU_STREAM_DEFAULT) != CUDA_SUCCESS ||
        probe.cuStreamCreate(&probe.apart, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        probe.cuEventCreate(&probe.event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
        posix_memalign(&probe.heap, 4096, probe.bytes) != 0 || file < 0 ||
        ftruncate(file, (off_t)probe.bytes) != 0) {
        fprintf(stderr, "no context, stream or memory\n");
        return false;
    }
    if (probe.cuMemHostAlloc == NULL ||
        probe.cuMemHostAlloc(&probe.pinned, probe.bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        probe.pinned = NULL;
    probe.shared = mmap(NULL, probe.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    probe.mapped = mmap(NULL, probe.bytes, PROT_READ, MAP_SHARED, file, 0);
    return probe.shared != MAP_FAILED && probe.mapped != MAP_FAILED;
}

/* What becomes of memory whose context goes. The last question: nothing is of use afterwards. */
static void reset(void)
{
    unsigned long long buffer = 0;
    unsigned type = 0;
    CUcontext again;
    CUresult code, of_buffer, of_type;

    probe.cuMemHostRegister(probe.heap, probe.bytes, CU_MEMHOSTREGISTER_PORTABLE);
    code = probe.cuDevicePrimaryCtxReset(probe.device);
    of_buffer = probe.cuPointerGetAttribute(&buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID, probe.memory);
    of_type = probe.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                          (CUdeviceptr)(uintptr_t)probe.heap);
    probe_say(
        "after cuDevicePrimaryCtxReset (%s): BUFFER_ID of what was allocated %s, TYPE of what was "
        "pinned %s",
        probe_name(code), probe_name(of_buffer), probe_name(of_type));
    code = probe.cuDevicePrimaryCtxRetain(&again, probe.device);
    probe_say("retained again: %s, the same handle: %s", probe_name(code),
              again == probe.context ? "yes" : "no");
    probe.cuCtxSetCurrent(again);
    code = probe.cuMemHostUnregister(probe.heap);
    of_type = probe.cuMemHostRegister(probe.heap, probe.bytes, CU_MEMHOSTREGISTER_PORTABLE);
    probe_say("what was pinned before the reset: cuMemHostUnregister %s, registering it again %s",
              probe_name(code), probe_name(of_type));
}

int main(int argc, char *argv[])
{
    if (argc > 2) {
        fprintf(stderr, "usage: %s [FATBIN]\n", argv[0]);
        return 2;
    }
    atexit(ask_at_exit);
    if (!load())
        return 77;
    tell_device();
    if (!prepare())
        return 1;
    probe_kinds();
    probe_costs();
    probe_order();
    probe_pins();
    probe_green();
    if (argc == 2)
        probe_module(argv[1]);
    reset();
    return 0;
}
