/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A buffer in GPU memory, and copies from and to it, through the CUDA driver if this machine has
 * one: the program needs no CUDA to be compiled. */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* These functions have been the same since CUDA 3.2; success is 0. */
static struct {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*get)(int *device, int index);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*alloc)(uintptr_t *memory, size_t bytes);
    int (*upload)(uintptr_t device, const void *host, size_t bytes);
    int (*download)(void *host, uintptr_t device, size_t bytes);
} cuda;

/* Prints what is missing and returns false. */
static inline bool device_load(void)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"cuInit", &cuda.init},
        {"cuDeviceGetCount", &cuda.count},
        {"cuDeviceGet", &cuda.get},
        {"cuDevicePrimaryCtxRetain", &cuda.retain},
        {"cuCtxSetCurrent", &cuda.set_current},
        {"cuMemAlloc_v2", &cuda.alloc},
        {"cuMemcpyHtoD_v2", &cuda.upload},
        {"cuMemcpyDtoH_v2", &cuda.download},
    };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    if (driver == NULL) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(driver, functions[i].name);

        if (found == NULL) {
            fprintf(stderr, "the CUDA driver has no %s\n", functions[i].name);
            return false;
        }
        memcpy(functions[i].function, &found, sizeof found);
    }
    return true;
}

/* How many devices there are; 0, after printing why, if there is none. */
static inline int device_count(void)
{
    int devices = 0;

    if (!device_load())
        return 0;
    if (cuda.init(0) != 0 || cuda.count(&devices) != 0 || devices == 0)
        fprintf(stderr, "no CUDA device\n");
    return devices;
}

/* BYTES on device INDEX, or the next that there is, whose context is then current; NULL, after
 * printing why, if that fails. The end of the process frees them. */
static inline void *device_allocate(int index, size_t bytes)
{
    int devices = device_count(), device;
    uintptr_t memory;
    void *context;

    if (devices == 0)
        return NULL;
    if (cuda.get(&device, index % devices) != 0 || cuda.retain(&context, device) != 0 ||
        cuda.set_current(context) != 0 || cuda.alloc(&memory, bytes) != 0) {
        fprintf(stderr, "device %d has no %zu bytes left\n", device, bytes);
        return NULL;
    }
    return (void *)memory; /* NOLINT(performance-no-int-to-ptr) */
}

static inline bool device_upload(void *device, const void *host, size_t bytes)
{
    return cuda.upload((uintptr_t)device, host, bytes) == 0;
}

static inline bool device_download(void *host, const void *device, size_t bytes)
{
    return cuda.download(host, (uintptr_t)device, bytes) == 0;
}

#endif
