/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Without hwloc no machine can be examined. */

#include <stdatomic.h>

#include "topo/machine.h"
#include "util/log.h"

struct hwloc_topology *cgx_topo_here(enum cgx_topo_detail detail)
{
    static atomic_flag logged = ATOMIC_FLAG_INIT;

    (void)detail;
    if (!atomic_flag_test_and_set(&logged))
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: this was built without hwloc");
    return NULL;
}

struct hwloc_topology *cgx_topo_load(enum cgx_topo_detail detail)
{
    (void)detail;
    return NULL;
}

void cgx_topo_free(struct hwloc_topology *topo)
{
    (void)topo;
}

struct cgx_topo_machine cgx_topo_machine(struct hwloc_topology *topo)
{
    (void)topo;
    return (struct cgx_topo_machine){0};
}

int cgx_topo_node_near(struct hwloc_topology *topo, const char *bus_id)
{
    (void)topo;
    (void)bus_id;
    return CGX_TOPO_UNKNOWN;
}

enum cgx_status cgx_topo_bind(void *memory, size_t bytes, unsigned numa_node)
{
    (void)memory;
    (void)bytes;
    (void)numa_node;
    cgx_topo_here(CGX_TOPO_PROCESSORS);
    return CGX_ERR_INVALID;
}

const char *cgx_topo_build(void)
{
    return "none";
}
