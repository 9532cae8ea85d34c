/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Without hwloc no machine can be examined. */

#include <stdatomic.h>

#include "topo/machine.h"
#include "util/log.h"

enum cgx_status cgx_topo_here(enum cgx_topo_detail detail, const struct cgx_topo **topo)
{
    static atomic_flag logged = ATOMIC_FLAG_INIT;

    (void)detail;
    (void)topo;
    if (!atomic_flag_test_and_set(&logged))
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: this was built without hwloc");
    return CGX_ERR_INVALID;
}

enum cgx_status cgx_topo_load(enum cgx_topo_detail detail, struct cgx_topo **topo)
{
    (void)detail;
    (void)topo;
    return CGX_ERR_INVALID;
}

void cgx_topo_free(struct cgx_topo *topo)
{
    (void)topo;
}

void cgx_topo_machine(const struct cgx_topo *topo, struct cgx_topo_machine *machine)
{
    (void)topo;
    (void)machine;
}

int cgx_topo_node_near(const struct cgx_topo *topo, const char *bus_id)
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
    return cgx_topo_here(CGX_TOPO_PROCESSORS, NULL);
}

const char *cgx_topo_build(void)
{
    return "none";
}
