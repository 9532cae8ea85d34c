/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "mpi/table.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"

/* The ABI that mpi.h is of, and what the names of libraries that have it contain. */
#ifdef OPEN_MPI
#define COMPILED_FOR "Open MPI"
#define FAMILY "Open MPI"
#else
#define COMPILED_FOR "MPICH"
#define FAMILY "MPICH", "MVAPICH", "Intel(R) MPI"
#endif

/* The most that MPI_Get_library_version writes, in any ABI. */
#define LIBRARY_VERSION_BYTES 8192

static struct cgx_mpi table;
static _Atomic(const struct cgx_mpi *) found;
static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

/* ---- where it is ---- */

/* A handle of an object that is loaded already, or NULL; the main program has no path. */
static void *open_loaded(const char *path)
{
    return dlopen(path[0] == '\0' ? NULL : path, RTLD_NOLOAD | RTLD_LAZY);
}

/* The same, if the object or its dependencies have an MPI. */
static void *open_with_mpi(const char *path)
{
    void *handle = open_loaded(path);

    if (handle != NULL && dlsym(handle, "PMPI_Allreduce") == NULL) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

static const char *object_path(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;

    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return NULL;
    return map->l_name;
}

struct nth_object {
    unsigned left;
    char path[PATH_MAX];
};

static int copy_nth_path(struct dl_phdr_info *info, size_t size, void *context)
{
    struct nth_object *object = context;

    (void)size;
    if (object->left-- > 0)
        return 0;
    snprintf(object->path, sizeof object->path, "%s", info->dlpi_name);
    return 1;
}

/* Paths are copied one by one, since dlopen from within dl_iterate_phdr takes the loader's locks in
 * the order opposite to that of dlopen elsewhere. */
static void *open_any_with_mpi(void)
{
    struct nth_object object;
    void *handle = NULL;

    for (unsigned n = 0; handle == NULL; n++) {
        object.left = n;
        if (dl_iterate_phdr(copy_nth_path, &object) == 0)
            break;
        handle = open_with_mpi(object.path);
    }
    return handle;
}

static void *open_mpi(const void *caller)
{
    const char *path = object_path(caller);
    void *handle = path == NULL ? NULL : open_with_mpi(path);

    return handle == NULL ? open_any_with_mpi() : handle;
}

/* ---- what it is ---- */

/* First line up to a comma, runs of blanks as one. */
static void set_name(const char *text)
{
    size_t length = 0;

    for (; *text != '\0' && *text != '\n' && *text != ',' && length + 1 < sizeof table.name; text++)
        if (!isspace((unsigned char)*text))
            table.name[length++] = *text;
        else if (length > 0 && table.name[length - 1] != ' ')
            table.name[length++] = ' ';
    table.name[length] = '\0';
    if (length == 0)
        strcpy(table.name, "an MPI that does not say its name");
}

/* The text does not tell MPICH's own ABI from the standard one, which one MPICH offers as two
 * libraries; where the latter is not in use, its version is -1. */
static bool has_standard_abi(void *handle)
{
    typedef int get_version(int *major, int *minor);
    get_version *abi_get_version = (get_version *)dlsym(handle, "PMPI_Abi_get_version");
    int major = -1, minor = -1;

    return abi_get_version != NULL && abi_get_version(&major, &minor) == 0 && major >= 1;
}

static bool is_our_family(const char *name)
{
    static const char *const family[] = {FAMILY};

    for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
        if (strstr(name, family[i]) != NULL)
            return true;
    return false;
}

static void identify(void *handle)
{
    static char text[2 * LIBRARY_VERSION_BYTES];
    bool standard = has_standard_abi(handle);
    int length;

    if (table.Get_library_version != NULL)
        table.Get_library_version(text, &length);
    set_name(text);
    table.abi = is_our_family(table.name) && !standard ? CGX_MPI_ABI_OURS : CGX_MPI_ABI_FOREIGN;
    if (sscanf(text, "MPICH Version: %d.%d", &table.version[0], &table.version[1]) != 2)
        table.version[0] = table.version[1] = 0;
    if (table.abi == CGX_MPI_ABI_FOREIGN)
        cgx_log(CGX_LOG_ERROR,
                "this library was compiled for the ABI of " COMPILED_FOR "; the program uses %s%s: "
                "every call is passed on untouched",
                table.name, standard ? " with the MPI standard's ABI" : "");
}

/* ---- the table ---- */

/* The name of a required function that is missing, or NULL. */
static const char *resolve(void *handle)
{
    const char *missing = NULL;

#define RESOLVE(function)                                                          \
    table.function = (__typeof__(table.function))dlsym(handle, "PMPI_" #function); \
    if (table.function == NULL)                                                    \
        missing = "PMPI_" #function;
    CGX_MPI_REQUIRED(RESOLVE)
#undef RESOLVE
    table.Allreduce_c = (cgx_mpi_allreduce_c *)dlsym(handle, "PMPI_Allreduce_c");
    table.Op_create_c = (cgx_mpi_op_create_c *)dlsym(handle, "PMPI_Op_create_c");
    table.GPU_query_support = (cgx_mpi_gpu_query_support *)dlsym(handle, "MPIX_GPU_query_support");
    table.Query_cuda_support =
        (cgx_mpi_query_cuda_support *)dlsym(handle, "MPIX_Query_cuda_support");
    return missing;
}

static void fill(const void *caller)
{
    void *handle = open_mpi(caller);
    const char *missing, *path;

    if (handle == NULL) {
        table.abi = CGX_MPI_ABI_NONE;
        cgx_log(CGX_LOG_ERROR, "an MPI function was called, but no MPI library is loaded that has "
                               "PMPI_Allreduce: the call fails");
        return;
    }
    missing = resolve(handle);
    identify(handle);
    if (table.abi == CGX_MPI_ABI_OURS && missing != NULL) {
        table.abi = CGX_MPI_ABI_FOREIGN;
        cgx_log(CGX_LOG_ERROR, "%s has no %s: every call is passed on untouched", table.name,
                missing);
    }
    /* The MPI library stays, whatever the program closes; the object that called it may go. */
    path = object_path((const void *)table.Allreduce);
    if (path != NULL)
        (void)open_loaded(path);
    dlclose(handle);
}

const struct cgx_mpi *cgx_mpi_find(const void *caller)
{
    const struct cgx_mpi *mpi = atomic_load_explicit(&found, memory_order_acquire);

    if (mpi != NULL)
        return mpi;
    pthread_mutex_lock(&filling);
    if (atomic_load_explicit(&found, memory_order_relaxed) == NULL) {
        fill(caller);
        atomic_store_explicit(&found, &table, memory_order_release);
    }
    pthread_mutex_unlock(&filling);
    return &table;
}

const struct cgx_mpi *cgx_mpi(void)
{
    return atomic_load_explicit(&found, memory_order_acquire);
}

void cgx_mpi_log_error(const struct cgx_mpi *mpi, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    mpi->Error_string(code, text, &length);
    cgx_log(CGX_LOG_ERROR, "%s: %s", what, text);
}
