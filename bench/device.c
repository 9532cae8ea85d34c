/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "device.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static CUresult (*total_memory)(size_t *bytes, CUdevice device);
static CUresult (*initialise)(unsigned flags);
static CUresult (*count_devices)(int *count);
static CUresult (*get_device)(CUdevice *device, int index);

void bench_must(CUresult code, const char *what)
{
    const char *name = "?";

    if (code == CUDA_SUCCESS)
        return;
    cgx_cuda()->cuGetErrorName(code, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

static bool load(struct bench_device *device)
{
    const struct {
        const char *name;
        void *function;
        bool optional;
    } functions[] = {{"cuMemcpyDtoDAsync_v2", &device->copy, false},
                     {"cuEventElapsedTime", &device->elapsed, true},
                     {"cuDeviceTotalMem_v2", &total_memory, false},
                     {"cuInit", &initialise, false},
                     {"cuDeviceGetCount", &count_devices, false},
                     {"cuDeviceGet", &get_device, false}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    if (library == NULL) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(library, functions[i].name);

        if (found == NULL && !functions[i].optional) {
            fprintf(stderr, "the CUDA driver has no %s\n", functions[i].name);
            return false;
        }
        memcpy(functions[i].function, &found, sizeof found);
    }
    device->cuda = cgx_cuda();
    device->soft = dlsym(library, "softcuda_count") != NULL;
    if (device->cuda == NULL || (device->elapsed == NULL && !device->soft)) {
        fprintf(stderr, "the CUDA driver is too old\n");
        return false;
    }
    return true;
}

static int attribute(const struct bench_device *device, CUdevice_attribute which, CUdevice of)
{
    int value = 0;

    /* The software driver does not have them all. */
    if (device->cuda->cuDeviceGetAttribute(&value, which, of) != CUDA_SUCCESS)
        return 0;
    return value;
}

bool bench_device_open(struct bench_device *device, int index)
{
    int count = 0;
    CUdevice number;
    CUcontext context;

    if (!load(device))
        return false;
    if (initialise(0) != CUDA_SUCCESS || count_devices(&count) != CUDA_SUCCESS || count == 0) {
        fprintf(stderr, "no CUDA device\n");
        return false;
    }
    bench_must(get_device(&number, index % count), "cuDeviceGet");
    bench_must(device->cuda->cuDevicePrimaryCtxRetain(&context, number),
               "cuDevicePrimaryCtxRetain");
    bench_must(device->cuda->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    bench_must(device->cuda->cuDeviceGetName(device->name, sizeof device->name, number),
               "cuDeviceGetName");
    bench_must(device->cuda->cuDriverGetVersion(&device->driver), "cuDriverGetVersion");
    bench_must(total_memory(&device->memory, number), "cuDeviceTotalMem");
    device->major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, number);
    device->minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, number);
    device->multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, number);
    device->clock = 1e3 * attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, number);
    device->l2_cache = (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, number);
    return true;
}

void bench_device_print(const struct bench_device *device, FILE *file)
{
    fprintf(file,
            "device: %s, sm_%d%d, %d multiprocessors, at most %.0f MHz, %zu MiB, L2 %zu MiB; "
            "driver for CUDA %d.%d\n",
            device->name, device->major, device->minor, device->multiprocessors,
            device->clock * 1e-6, device->memory >> 20, device->l2_cache >> 20,
            device->driver / 1000, device->driver % 1000 / 10);
    if (device->soft)
        fprintf(file,
                "*** THIS IS THE SOFTWARE DRIVER, FOR TESTS: NO SPEED IS MEASURED OR PRINTED. "
                "***\n");
}

CUdeviceptr bench_allocate(const struct bench_device *device, size_t bytes)
{
    CUdeviceptr memory;

    bench_must(device->cuda->cuMemAlloc(&memory, bytes), "cuMemAlloc");
    bench_must(device->cuda->cuMemsetD8Async(memory, 0, bytes, NULL), "cuMemsetD8Async");
    return memory;
}

FILE *bench_table(const char *name, bool append, const char *heads)
{
    FILE *file = fopen(name, append ? "a" : "w");

    if (file == NULL) {
        perror(name);
        return NULL;
    }
    setvbuf(file, NULL, _IOLBF, BUFSIZ);
    fseek(file, 0, SEEK_END);
    if (ftell(file) == 0)
        fputs(heads, file);
    return file;
}
