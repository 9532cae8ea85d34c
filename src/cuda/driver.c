/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* dl_iterate_phdr */

#include "cuda/memory.h"

#include <cuda.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A macro of cuda.h may give the name a version suffix; the driver exports that one. */
#define STRING(name) #name
#define EXPANDED(name) STRING(name)

typedef __typeof__(cuPointerGetAttribute) get_attribute;

static _Atomic(get_attribute *) driver; /* NULL until the program has loaded it */
static atomic_ullong objects_seen;      /* loaded so far when it was last looked for */

struct search {
    unsigned long long before, now; /* objects loaded so far, those unloaded since included */
    char path[PATH_MAX];            /* of the driver, or "" */
};

/* For each loaded object. Every one tells the same count, so that the first ends the search where
 * nothing was loaded since the last time. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char driver_name[] = "libcuda.so";
    struct search *search = context;
    const char *name = strrchr(info->dlpi_name, '/');

    (void)size;
    search->now = info->dlpi_adds;
    if (search->now == search->before)
        return 1;
    name = name == NULL ? info->dlpi_name : name + 1;
    if (strncmp(name, driver_name, sizeof driver_name - 1) != 0 ||
        strlen(info->dlpi_name) >= sizeof search->path)
        return 0;
    strcpy(search->path, info->dlpi_name);
    return 1;
}

/* The driver, if the program has loaded it by now. A dlopen by soname would search the library path
 * each time that it fails; the names of the loaded objects tell as much. */
static get_attribute *find_driver(void)
{
    struct search search;
    get_attribute *found = NULL;
    void *library, *address;

    search.before = atomic_load_explicit(&objects_seen, memory_order_relaxed);
    search.path[0] = '\0';
    dl_iterate_phdr(look_at_object, &search);
    if (search.path[0] != '\0') {
        library = dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
        if (library == NULL) /* unloaded again by another thread */
            return NULL;
        /* The reference is kept: the driver must not go while its address is in use. */
        address = dlsym(library, EXPANDED(cuPointerGetAttribute));
        memcpy(&found, &address, sizeof found);
        atomic_store_explicit(&driver, found, memory_order_release);
    }
    atomic_store_explicit(&objects_seen, search.now, memory_order_relaxed);
    return found;
}

enum cgx_memory cgx_cuda_memory(const void *pointer)
{
    get_attribute *ask = atomic_load_explicit(&driver, memory_order_acquire);
    CUdeviceptr address = (CUdeviceptr)pointer;
    unsigned type = 0, managed = 0;

    if (ask == NULL)
        ask = find_driver();
    if (ask == NULL)
        return CGX_MEMORY_HOST;
    /* An error means memory that CUDA does not know, or that CUDA is not initialised: host. */
    if (ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        return CGX_MEMORY_HOST;
    /* Managed memory may be reported as either type, by where it is at the moment. */
    if (ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed)
        return CGX_MEMORY_MANAGED;
    return type == CU_MEMORYTYPE_DEVICE ? CGX_MEMORY_DEVICE : CGX_MEMORY_HOST;
}

const char *cgx_cuda_build(void)
{
    static char version[16];

    snprintf(version, sizeof version, "%d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return version;
}
