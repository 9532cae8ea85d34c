/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* dl_iterate_phdr */

#include "cuda/driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "util/log.h"

/* CUDA 11.0 has all required functions. Loading the kernels shows whether the driver runs them. */
#define OLDEST_VERSION 11000

/* A macro of cuda.h may add a version suffix to a name; the driver exports the name with suffix. */
#define STRING(name) #name
#define EXPANDED(name) STRING(name)

static const struct {
    const char *name;
    size_t offset; /* offset of the function in the table */
} entries[] = {
#define ENTRY(name) {EXPANDED(name), offsetof(struct cgx_cuda, name)},
    CGX_CUDA_REQUIRED(ENTRY)
#undef ENTRY
};

static struct cgx_cuda table;
/* The table; NULL until the program has loaded the driver. */
static _Atomic(const struct cgx_cuda *) driver;
static atomic_ullong objects_seen; /* number of objects ever loaded, at the last search */
static bool useless;               /* the driver that was found cannot be used */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct search {
    unsigned long long before, now; /* numbers of objects ever loaded, at the last search and now */
    char path[PATH_MAX];            /* path of the driver, or "" */
};

/* Called for each loaded object. All report the same count (dlpi_adds), so the search ends at the
 * first object if nothing was loaded since the last search. */
static int search_object(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char driver_name[] = "libcuda.so";
    struct search *search = context;
    const char *name = strrchr(info->dlpi_name, '/');

    (void)size;
    search->now = info->dlpi_adds;
    if (search->now == search->before)
        return 1;
    name = name ? name + 1 : info->dlpi_name;
    if (strncmp(name, driver_name, sizeof driver_name - 1) != 0 ||
        strlen(info->dlpi_name) >= sizeof search->path)
        return 0;
    strcpy(search->path, info->dlpi_name);
    return 1;
}

/* Fills the table. False: the driver cannot be used (logged at info level). */
static bool fill_table(void *library)
{
    void *address;
    int version = 0;

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        address = dlsym(library, entries[i].name);
        if (!address) {
            cgx_log(CGX_LOG_INFO, "the CUDA driver has no %s: sums in GPU memory stay exact",
                    entries[i].name);
            return false;
        }
        memcpy((char *)&table + entries[i].offset, &address, sizeof address);
    }
    address = dlsym(library, "cuCtxGetId");
    memcpy(&table.cuCtxGetId, &address, sizeof address);
    address = dlsym(library, "cuStreamGetGreenCtx");
    memcpy(&table.cuStreamGetGreenCtx, &address, sizeof address);
    if (table.cuDriverGetVersion(&version) == CUDA_SUCCESS && version >= OLDEST_VERSION)
        return true;
    cgx_log(CGX_LOG_INFO,
            "the CUDA driver is for CUDA %d.%d, older than 11.0: buffers in GPU memory are left "
            "alone",
            version / 1000, version % 1000 / 10);
    return false;
}

/* Returns the driver if the program has loaded it. The names of loaded objects are searched, since
 * dlopen by soname searches the library path each time that it fails. */
static const struct cgx_cuda *find_driver(void)
{
    const struct cgx_cuda *found = NULL;
    struct search search;
    void *library;

    search.before = atomic_load_explicit(&objects_seen, memory_order_relaxed);
    search.path[0] = '\0';
    dl_iterate_phdr(search_object, &search);
    if (search.path[0] != '\0') {
        pthread_mutex_lock(&lock);
        found = atomic_load_explicit(&driver, memory_order_relaxed);
        /* The reference is kept: the driver must not go while its addresses are in use. dlopen
         * returns NULL if another thread has unloaded the driver. */
        library =
            found || useless ? NULL : dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
        if (library && fill_table(library)) {
            found = &table;
            atomic_store_explicit(&driver, found, memory_order_release);
        } else if (library) {
            useless = true;
        } else if (!found && !useless) {
            search.now = search.before; /* makes the next call search again */
        }
        pthread_mutex_unlock(&lock);
    }
    atomic_store_explicit(&objects_seen, search.now, memory_order_relaxed);
    return found;
}

const struct cgx_cuda *cgx_cuda(void)
{
    const struct cgx_cuda *found = atomic_load_explicit(&driver, memory_order_acquire);

    return found ? found : find_driver();
}

enum cgx_status cgx_cuda_status(CUresult code, const char *what)
{
    const char *name = "an error without a name";

    if (code == CUDA_SUCCESS)
        return CGX_OK;
    table.cuGetErrorName(code, &name);
    cgx_log(CGX_LOG_DEBUG, "%s: %s", what, name);
    if (code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
        code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        return CGX_ERR_BUSY;
    return code == CUDA_ERROR_OUT_OF_MEMORY ? CGX_ERR_NOMEM : CGX_ERR_DEVICE;
}
