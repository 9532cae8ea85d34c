/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "mpi/table.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/abi.h"
#include "util/log.h"

/* The longest text of MPI_Get_library_version in any ABI. */
#define LIBRARY_VERSION_BYTES 8192

static struct cgx_mpi table;
_Atomic(const struct cgx_mpi *) cgx_mpi_found;
static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

/* ---- finding the library ---- */

/* Returns a handle of an object that is already loaded, or NULL. The main program has an empty
 * path. */
static void *open_loaded(const char *path)
{
    return dlopen(path[0] == '\0' ? NULL : path, RTLD_NOLOAD | RTLD_LAZY);
}

/* Like open_loaded, if the object or its dependencies define SYMBOL. */
static void *open_with(const char *path, const char *symbol)
{
    void *handle = open_loaded(path);

    if (handle && !dlsym(handle, symbol)) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

static const char *object_path(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;

    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || !map)
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

/* Whether the object at PATH, not this library, can have SYMBOL. In the destructor of this library
 * dlopen of itself, or of the main program, which it is a part of, would run its constructors
 * again. */
static bool may_have(const char *path, const char *symbol)
{
    const char *own = object_path(&table);

    if (path[0] == '\0')
        return dlsym(RTLD_DEFAULT, symbol);
    return !own || strcmp(path, own) != 0;
}

/* Tries all loaded objects. Paths are copied one at a time, since dlopen within dl_iterate_phdr
 * takes the loader's locks in the opposite order to dlopen elsewhere. */
static void *open_any_with(const char *symbol)
{
    struct nth_object object;
    void *handle = NULL;

    for (unsigned n = 0; !handle; n++) {
        object.left = n;
        if (dl_iterate_phdr(copy_nth_path, &object) == 0)
            break;
        if (may_have(object.path, symbol))
            handle = open_with(object.path, symbol);
    }
    return handle;
}

/* Opens the object with SYMBOL that CALLER can reach, or else any. */
static void *open_near(const void *caller, const char *symbol)
{
    const char *path = object_path(caller);
    void *handle = path ? open_with(path, symbol) : NULL;

    return handle ? handle : open_any_with(symbol);
}

void *cgx_mpi_symbol(const void *caller, const char *symbol)
{
    void *found = caller ? NULL : dlsym(RTLD_DEFAULT, symbol);
    void *handle = found ? NULL : open_near(caller, symbol);

    if (handle) {
        found = dlsym(handle, symbol);
        dlclose(handle);
    }
    return found;
}

/* ---- identifying the library ---- */

/* Sets the name to the first line of TEXT up to a comma, with runs of blanks as one. */
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

/* MPICH may offer its own ABI and the standard one as two libraries, with the same text of
 * MPI_Get_library_version. In its own one MPI_Abi_get_version gives -1. */
static bool has_standard_abi(void *library)
{
    typedef int get_version(int *major, int *minor);
    get_version *abi_get_version = (get_version *)dlsym(library, "PMPI_Abi_get_version");
    int major = -1, minor = -1;

    return abi_get_version && abi_get_version(&major, &minor) == 0 && major >= 1;
}

static bool is_mpich(const char *name)
{
    static const char *const family[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};

    for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
        if (strstr(name, family[i]))
            return true;
    return false;
}

/* The ABI of LIBRARY, after its name is set; NULL: unknown. */
static cgx_abi *find_abi(void *library)
{
    if (has_standard_abi(library))
        return cgx_abi_standard;
    if (is_mpich(table.name))
        return cgx_abi_mpich;
    return strncmp(table.name, "Open MPI", strlen("Open MPI")) == 0 ? cgx_abi_openmpi : NULL;
}

static void identify_mpi(void *library)
{
    typedef int get_version(char *version, int *length);
    static char text[2 * LIBRARY_VERSION_BYTES];
    get_version *get_library_version = (get_version *)dlsym(library, "PMPI_Get_library_version");
    int length;

    if (get_library_version)
        get_library_version(text, &length);
    set_name(text);
    if (sscanf(text, "MPICH Version: %d.%d", &table.version[0], &table.version[1]) != 2)
        table.version[0] = table.version[1] = 0;
}

bool cgx_mpi_logs_for_job(void)
{
    static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        const char *rank = getenv(ranks[i]);

        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return true;
}

/* ---- the table ---- */

static void resolve_raw(void *library)
{
#define RESOLVE(function) \
    table.raw.function = (__typeof__(table.raw.function))dlsym(library, "PMPI_" #function)
    RESOLVE(Allreduce);
    RESOLVE(Allreduce_c);
    RESOLVE(Comm_set_info);
    RESOLVE(Comm_free);
    RESOLVE(Comm_disconnect);
    RESOLVE(Abort);
#undef RESOLVE
}

static void fill_mpi_table(const void *caller)
{
    void *library = open_near(caller, "PMPI_Allreduce");
    const char *missing, *path;
    cgx_abi *abi;

    if (!library) {
        table.abi = CGX_MPI_ABI_NONE;
        cgx_log(CGX_LOG_ERROR, "an MPI function was called, but no MPI library is loaded that has "
                               "PMPI_Allreduce: the call fails");
        return;
    }
    resolve_raw(library);
    identify_mpi(library);
    abi = find_abi(library);
    missing = abi ? abi(&table, library) : NULL;
    table.abi = abi && !missing ? CGX_MPI_ABI_KNOWN : CGX_MPI_ABI_FOREIGN;
    if (!abi && cgx_mpi_logs_for_job())
        cgx_log(CGX_LOG_ERROR,
                "this library knows the ABIs of MPICH, Open MPI and the MPI standard; the "
                "program uses %s: every call is passed on untouched",
                table.name);
    else if (missing && cgx_mpi_logs_for_job())
        cgx_log(CGX_LOG_ERROR, "%s has no %s: every call is passed on untouched", table.name,
                missing);
    /* Keep the MPI library open, whatever the program closes. LIBRARY may be another object, which
     * may be closed. */
    path = object_path((const void *)table.raw.Allreduce);
    if (path)
        (void)open_loaded(path);
    dlclose(library);
}

const struct cgx_mpi *cgx_mpi_find(const void *caller)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    if (mpi)
        return mpi;
    pthread_mutex_lock(&filling);
    if (!atomic_load_explicit(&cgx_mpi_found, memory_order_relaxed)) {
        fill_mpi_table(caller);
        atomic_store_explicit(&cgx_mpi_found, &table, memory_order_release);
    }
    pthread_mutex_unlock(&filling);
    return &table;
}

int cgx_mpi_error_of(const struct cgx_mpi *mpi, int code, int done, const unsigned char *statuses)
{
    int class = CGX_MPI_SUCCESS, error = CGX_MPI_SUCCESS;

    if (mpi->Error_class(code, &class) != CGX_MPI_SUCCESS || class != mpi->ERR_IN_STATUS)
        return code;
    for (int i = 0; i < done && error == CGX_MPI_SUCCESS; i++)
        memcpy(&error, statuses + (size_t)i * mpi->status_bytes + mpi->status_error, sizeof error);
    return error == CGX_MPI_SUCCESS ? code : error;
}

void cgx_mpi_log_error(const struct cgx_mpi *mpi, const char *what, int code)
{
    char text[CGX_MPI_ERROR_BYTES] = "";
    int length;

    mpi->Error_string(code, text, &length);
    cgx_log(CGX_LOG_ERROR, "%s: %s", what, text);
}
