/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* usage: bench/gpu_hold
 *
 * Has a context on each device, prints "held", and does nothing until it is killed or ten minutes
 * are over: the driver keeps a device initialised as long as some process uses it, and takes
 * seconds to do it anew for each program else. 77: there is no driver or no device. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { SECONDS = 600 };

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*init)(unsigned flags);
    int (*count_devices)(int *count);
    int (*retain)(void **context, int device);
    int count = 0;

    if (driver == NULL) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return 77;
    }
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&count_devices = dlsym(driver, "cuDeviceGetCount");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (init == NULL || count_devices == NULL || retain == NULL || init(0) != 0 ||
        count_devices(&count) != 0 || count == 0) {
        fprintf(stderr, "no CUDA device\n");
        return 77;
    }
    for (int device = 0; device < count; device++) {
        if (retain(&context, device) != 0)
            fprintf(stderr, "no context on device %d\n", device);
    }
    printf("held\n");
    fflush(stdout);
    sleep(SECONDS);
    return 0;
}
