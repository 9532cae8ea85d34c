/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "topo/machine.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"

/* The soname of hwloc 2.x. */
#define LIBRARY "libhwloc.so.15"

#define MAJOR(version) ((unsigned)(version) >> 16)

/* What of hwloc is used. Types come from its header, addresses from dlsym. */
#define FUNCTIONS(X)    \
    X(get_api_version)  \
    X(topology_init)    \
    X(topology_load)    \
    X(topology_destroy) \
    X(get_type_depth)   \
    X(get_nbobjs_by_depth)

struct hwloc {
    void *library;
#define MEMBER(function) __typeof__(hwloc_##function) *function;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static bool resolve(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);

    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static enum cgx_status open_hwloc(struct hwloc *hwloc)
{
    bool complete = true;

    hwloc->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (hwloc->library == NULL) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: %s", dlerror());
        return CGX_ERR_INVALID;
    }
#define RESOLVE(function) \
    complete = resolve(hwloc->library, "hwloc_" #function, &hwloc->function) && complete;
    FUNCTIONS(RESOLVE)
#undef RESOLVE
    if (!complete || MAJOR(hwloc->get_api_version()) != MAJOR(HWLOC_API_VERSION)) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: " LIBRARY " is not hwloc %u",
                MAJOR(HWLOC_API_VERSION));
        dlclose(hwloc->library);
        return CGX_ERR_INVALID;
    }
    return CGX_OK;
}

static unsigned count(const struct hwloc *hwloc, hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int depth = hwloc->get_type_depth(topology, type);

    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE)
        return 0;
    return hwloc->get_nbobjs_by_depth(topology, depth);
}

enum cgx_status cgx_topo_machine(struct cgx_topo_machine *machine)
{
    struct hwloc hwloc;
    hwloc_topology_t topology;
    enum cgx_status status = open_hwloc(&hwloc);

    if (status != CGX_OK)
        return status;
    status = CGX_ERR_NOMEM;
    if (hwloc.topology_init(&topology) != 0)
        goto close_library;
    if (hwloc.topology_load(topology) != 0)
        goto destroy_topology;
    machine->packages = count(&hwloc, topology, HWLOC_OBJ_PACKAGE);
    machine->numa_nodes = count(&hwloc, topology, HWLOC_OBJ_NUMANODE);
    machine->cores = count(&hwloc, topology, HWLOC_OBJ_CORE);
    machine->processing_units = count(&hwloc, topology, HWLOC_OBJ_PU);
    status = CGX_OK;
destroy_topology:
    hwloc.topology_destroy(topology);
close_library:
    dlclose(hwloc.library);
    return status;
}

const char *cgx_topo_build(void)
{
    static char version[16];

    snprintf(version, sizeof version, "%u.%u", MAJOR(HWLOC_API_VERSION),
             (unsigned)HWLOC_API_VERSION >> 8 & 0xFFu);
    return version;
}
