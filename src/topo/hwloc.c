/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Loads hwloc and lets it examine a machine. */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "topo/view.h"
#include "util/log.h"

#define LIBRARY "libhwloc.so.15"

#define MAJOR(version) ((unsigned)(version) >> 16)

static struct cgx_hwloc table;
static bool opened;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;

static bool resolve_function(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);

    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* In a set-uid program hwloc would still read its environment variables and load plugins from where
 * they point. */
static bool is_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

static void open_hwloc(void)
{
    void *library;

    if (is_secure()) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: hwloc is not loaded in set-uid programs");
        return;
    }
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: %s", dlerror());
        return;
    }
    opened = true;
#define RESOLVE(function) \
    opened = resolve_function(library, "hwloc_" #function, &table.function) && opened;
    CGX_HWLOC_FUNCTIONS(RESOLVE)
#undef RESOLVE
    opened = opened && MAJOR(table.get_api_version()) == MAJOR(HWLOC_API_VERSION);
    if (!opened) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: " LIBRARY " is not hwloc %u",
                MAJOR(HWLOC_API_VERSION));
        dlclose(library);
    }
}

/* These components would start drivers in the program or connect it to X servers. Names that this
 * hwloc does not know do no harm. */
static void exclude_drivers(hwloc_topology_t topology)
{
    static const char *const harmful[] = {"cuda", "nvml", "opencl", "levelzero", "rsmi", "gl"};

    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++)
        table.topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      harmful[i]);
}

static int load_topology(hwloc_topology_t topology, enum cgx_topo_source source, const char *text,
                         enum cgx_topo_detail detail)
{
    if ((source == CGX_TOPO_SYNTHETIC && table.topology_set_synthetic(topology, text) != 0) ||
        (source == CGX_TOPO_XML && table.topology_set_xml(topology, text) != 0) ||
        (detail == CGX_TOPO_DEVICES &&
         table.topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0))
        return -1;
    exclude_drivers(topology);
    return table.topology_load(topology);
}

enum cgx_status cgx_topo_load(enum cgx_topo_source source, const char *text,
                              enum cgx_topo_detail detail, struct cgx_topo **topo)
{
    struct cgx_topo *new_topo;
    enum cgx_status status = CGX_ERR_NOMEM;

    pthread_once(&open_once, open_hwloc);
    if (!opened)
        return CGX_ERR_INVALID;
    new_topo = malloc(sizeof *new_topo);
    if (!new_topo || table.topology_init(&new_topo->topology) != 0)
        goto free_topo;
    new_topo->hwloc = &table;
    if (load_topology(new_topo->topology, source, text, detail) != 0) {
        status = errno == ENOMEM ? CGX_ERR_NOMEM : CGX_ERR_INVALID;
        goto destroy_topology;
    }
    *topo = new_topo;
    return CGX_OK;
destroy_topology:
    table.topology_destroy(new_topo->topology);
free_topo:
    free(new_topo);
    cgx_log(CGX_LOG_DEBUG, "the topology is unknown: %s",
            status == CGX_ERR_NOMEM ? "no memory" : "hwloc failed");
    return status;
}

void cgx_topo_free(struct cgx_topo *topo)
{
    if (!topo)
        return;
    topo->hwloc->topology_destroy(topo->topology);
    free(topo);
}

enum cgx_status cgx_topo_here(enum cgx_topo_detail detail, const struct cgx_topo **topo)
{
    /* A cache for each level of detail, so that devices are searched only if they are needed. */
    static struct {
        bool queried;
        enum cgx_status status;
        struct cgx_topo *topo;
    } here[2];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (!here[detail].queried)
        here[detail].status = cgx_topo_load(CGX_TOPO_LIVE, NULL, detail, &here[detail].topo);
    here[detail].queried = true;
    pthread_mutex_unlock(&lock);
    if (here[detail].status == CGX_OK)
        *topo = here[detail].topo;
    return here[detail].status;
}

const char *cgx_topo_build(void)
{
    static char version[16];

    snprintf(version, sizeof version, "%u.%u", MAJOR(HWLOC_API_VERSION),
             (unsigned)HWLOC_API_VERSION >> 8 & 0xFFu);
    return version;
}
