/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/tap.h"

/* The parts of cuda.h that are needed, for tests are built without it too. */
typedef unsigned long long address;
#define MEM_ATTACH_GLOBAL 1u
#define REGISTER_PORTABLE 1u
#define STREAM_NON_BLOCKING 1u
#define IPC_LAZY_ENABLE_PEER_ACCESS 1u
struct handle {
    char bytes[DEVICE_HANDLE_BYTES];
};

static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int index);
    int (*device_get_count)(int *count);
    int (*primary_reset)(int device);
    int (*primary_retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*get_current)(void **context);
    int (*exchange_capture_mode)(int *mode);
    int (*alloc)(address *memory, size_t bytes);
    int (*alloc_managed)(address *memory, size_t bytes, unsigned flags);
    int (*free)(address memory);
    int (*to_device)(address device, const void *host, size_t bytes);
    int (*to_device_async)(address device, const void *host, size_t bytes, void *stream);
    int (*to_host)(void *host, address device, size_t bytes);
    int (*to_host_async)(void *host, address device, size_t bytes, void *stream);
    int (*host_register)(void *host, size_t bytes, unsigned flags);
    int (*host_unregister)(void *host);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_synchronize)(void *stream);
    int (*ipc_get)(struct handle *handle, address memory);
    int (*ipc_open)(address *memory, struct handle handle, unsigned flags);
    int (*ipc_close)(address memory);
    /* NULL on a real driver. */
    void (*soft_fail)(enum softcuda_kind kind, unsigned nth, bool so_on);
    void (*soft_count)(struct softcuda_counts *counts);
    void (*soft_record_calls)(bool on);
    size_t (*soft_calls)(struct softcuda_call *calls, size_t most);
} driver;

static const struct {
    const char *name;
    void *function;
    bool optional;
} functions[] = {
    {"cuInit", &driver.init, false},
    {"cuDeviceGet", &driver.device_get, false},
    {"cuDeviceGetCount", &driver.device_get_count, false},
    {"cuDevicePrimaryCtxReset_v2", &driver.primary_reset, false},
    {"cuDevicePrimaryCtxRetain", &driver.primary_retain, false},
    {"cuCtxSetCurrent", &driver.set_current, false},
    {"cuCtxGetCurrent", &driver.get_current, false},
    {"cuThreadExchangeStreamCaptureMode", &driver.exchange_capture_mode, false},
    {"cuMemAlloc_v2", &driver.alloc, false},
    {"cuMemAllocManaged", &driver.alloc_managed, false},
    {"cuMemFree_v2", &driver.free, false},
    {"cuMemcpyHtoD_v2", &driver.to_device, false},
    {"cuMemcpyHtoDAsync_v2", &driver.to_device_async, false},
    {"cuMemcpyDtoH_v2", &driver.to_host, false},
    {"cuMemcpyDtoHAsync_v2", &driver.to_host_async, false},
    {"cuMemHostRegister_v2", &driver.host_register, false},
    {"cuMemHostUnregister", &driver.host_unregister, false},
    {"cuStreamCreate", &driver.stream_create, false},
    {"cuStreamSynchronize", &driver.stream_synchronize, false},
    {"cuIpcGetMemHandle", &driver.ipc_get, false},
    {"cuIpcOpenMemHandle_v2", &driver.ipc_open, false},
    {"cuIpcCloseMemHandle", &driver.ipc_close, false},
    {"softcuda_fail", &driver.soft_fail, true},
    {"softcuda_count", &driver.soft_count, true},
    {"softcuda_record_calls", &driver.soft_record_calls, true},
    {"softcuda_calls", &driver.soft_calls, true},
};

void device_must(int code, const char *what)
{
    if (code != 0)
        bail_out("%s: CUDA error %d", what, code);
}

static bool load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    if (library == NULL)
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(library, functions[i].name);

        if (found == NULL && !functions[i].optional)
            bail_out("libcuda.so.1 has no %s", functions[i].name);
        memcpy(functions[i].function, &found, sizeof found);
    }
    return true;
}

bool device_find(const struct device_function *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(RTLD_DEFAULT, wanted[i].name);

        if (found == NULL)
            return false;
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return true;
}

bool device_open(int index)
{
    void *context;
    int count, device;

    if (driver.init == NULL && !load())
        return false;
    if (driver.init(0) != 0 || driver.device_get_count(&count) != 0 || count == 0)
        return false;
    device_must(driver.device_get(&device, index % count), "cuDeviceGet");
    device_must(driver.primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
    device_must(driver.set_current(context), "cuCtxSetCurrent");
    return true;
}

void device_close(void)
{
    device_must(driver.set_current(NULL), "cuCtxSetCurrent");
}

void device_reset(int index)
{
    int count, device;

    device_must(driver.device_get_count(&count), "cuDeviceGetCount");
    device_must(driver.device_get(&device, index % count), "cuDeviceGet");
    device_must(driver.primary_reset(device), "cuDevicePrimaryCtxReset");
}

struct device_thread device_thread(void)
{
    struct device_thread thread = {.context = NULL};
    int mode = 0;

    device_must(driver.get_current(&thread.context), "cuCtxGetCurrent");
    device_must(driver.exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
    thread.capture_mode = mode;
    device_must(driver.exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
    return thread;
}

bool device_thread_is(const struct device_thread *before)
{
    const struct device_thread now = device_thread();

    return now.context == before->context && now.capture_mode == before->capture_mode;
}

void device_set_capture_mode(int mode)
{
    device_must(driver.exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
}

bool device_is_soft(void)
{
    return driver.soft_fail != NULL && driver.soft_count != NULL && !getenv("SOFTCUDA_POSES");
}

void device_fail(enum softcuda_kind kind, unsigned nth, bool so_on)
{
    driver.soft_fail(kind, nth, so_on);
}

struct softcuda_counts device_count(void)
{
    struct softcuda_counts counts;

    driver.soft_count(&counts);
    return counts;
}

unsigned long long device_live(void)
{
    struct softcuda_counts counts = device_count();

    return counts.live - counts.shared;
}

static void check_nothing_left(void)
{
    if (device_live() == 0)
        return;
    fprintf(stderr, "%llu objects of the driver are left at the end\n", device_live());
    _Exit(1);
}

void device_leave_nothing(void)
{
    atexit(check_nothing_left);
}

void device_record_calls(bool on)
{
    driver.soft_record_calls(on);
}

size_t device_recorded(struct softcuda_call *calls, size_t most)
{
    return driver.soft_calls(calls, most);
}

void *device_alloc(size_t bytes)
{
    address memory;

    device_must(driver.alloc(&memory, bytes > 0 ? bytes : 1), "cuMemAlloc");
    return (void *)memory;
}

void *device_alloc_managed(size_t bytes)
{
    address memory;

    device_must(driver.alloc_managed(&memory, bytes > 0 ? bytes : 1, MEM_ATTACH_GLOBAL),
                "cuMemAllocManaged");
    return (void *)memory;
}

void device_free(void *memory)
{
    device_must(driver.free((address)memory), "cuMemFree");
}

void device_upload(void *device, const void *host, size_t bytes)
{
    if (bytes == 0)
        return;
    device_must(driver.to_device((address)device, host, bytes), "cuMemcpyHtoD");
    /* From pageable memory it may not have arrived. */
    device_must(driver.stream_synchronize(NULL), "cuStreamSynchronize");
}

void device_download(void *host, const void *device, size_t bytes)
{
    if (bytes > 0)
        device_must(driver.to_host(host, (address)device, bytes), "cuMemcpyDtoH");
}

void *device_clone(const void *host, size_t bytes)
{
    void *device = device_alloc(bytes);

    device_upload(device, host, bytes);
    return device;
}

void device_download_on(void *stream, void *host, const void *device, size_t bytes)
{
    device_must(driver.to_host_async(host, (address)device, bytes, stream), "cuMemcpyDtoHAsync");
    device_must(driver.stream_synchronize(stream), "cuStreamSynchronize");
}

void *device_stream(void)
{
    void *stream;

    device_must(driver.stream_create(&stream, STREAM_NON_BLOCKING), "cuStreamCreate");
    return stream;
}

void device_upload_later(void *device, const void *host, size_t bytes, void *stream)
{
    device_must(driver.to_device_async((address)device, host, bytes, stream), "cuMemcpyHtoDAsync");
}

void device_pin(void *host, size_t bytes)
{
    device_must(driver.host_register(host, bytes, REGISTER_PORTABLE), "cuMemHostRegister");
}

void device_unpin(void *host)
{
    device_must(driver.host_unregister(host), "cuMemHostUnregister");
}

bool device_share(void *memory, char handle[DEVICE_HANDLE_BYTES])
{
    struct handle shared;
    bool done = driver.ipc_get(&shared, (address)memory) == 0;

    if (done)
        memcpy(handle, &shared, sizeof shared);
    return done;
}

void *device_reach(const char handle[DEVICE_HANDLE_BYTES])
{
    struct handle shared;
    address memory;

    memcpy(&shared, handle, sizeof shared);
    return driver.ipc_open(&memory, shared, IPC_LAZY_ENABLE_PEER_ACCESS) == 0 ? (void *)memory
                                                                              : NULL;
}

void device_leave(void *reached)
{
    device_must(driver.ipc_close((address)reached), "cuIpcCloseMemHandle");
}
