/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Packages, NUMA nodes and cores, and where memory is among them. */

#include <errno.h>
#include <string.h>

#include "topo/view.h"
#include "util/log.h"

/* Objects that an irregular machine has at several depths are not counted. */
static unsigned count_objects(const struct cgx_topo *topo, hwloc_obj_type_t type)
{
    int depth = topo->hwloc->get_type_depth(topo->topology, type);

    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE)
        return 0;
    return topo->hwloc->get_nbobjs_by_depth(topo->topology, depth);
}

hwloc_obj_t cgx_topo_object(const struct cgx_topo *topo, hwloc_obj_type_t type, unsigned place)
{
    return topo->hwloc->get_obj_by_depth(topo->topology,
                                         topo->hwloc->get_type_depth(topo->topology, type), place);
}

/* Memory that all processors share (behind CXL) is near none of them, so this takes the smallest
 * NUMA node that intersects the set, if that node contains the set. hwloc sorts nodes at the same
 * place by number. */
int cgx_topo_node_of(const struct cgx_topo *topo, hwloc_const_cpuset_t set)
{
    hwloc_obj_t node, nearest = NULL;
    int weight, least = 0;

    for (unsigned i = 0; (node = cgx_topo_object(topo, HWLOC_OBJ_NUMANODE, i)) != NULL; i++) {
        if (!topo->hwloc->bitmap_intersects(node->cpuset, set))
            continue;
        weight = topo->hwloc->bitmap_weight(node->cpuset);
        if (!nearest || weight < least) {
            nearest = node;
            least = weight;
        }
    }
    if (!nearest || !topo->hwloc->bitmap_isincluded(set, nearest->cpuset))
        return CGX_TOPO_UNKNOWN;
    return (int)nearest->os_index;
}

void cgx_topo_machine(const struct cgx_topo *topo, struct cgx_topo_machine *machine)
{
    machine->packages = count_objects(topo, HWLOC_OBJ_PACKAGE);
    machine->numa_nodes = count_objects(topo, HWLOC_OBJ_NUMANODE);
    machine->cores = count_objects(topo, HWLOC_OBJ_CORE);
    machine->processing_units = count_objects(topo, HWLOC_OBJ_PU);
}

/* Without HWLOC_MEMBIND_STRICT binding is a preference, so a full node does not kill the program.
 */
enum cgx_status cgx_topo_bind(void *memory, size_t bytes, unsigned numa_node)
{
    const struct cgx_topo *topo;
    hwloc_obj_t node;

    if (cgx_topo_here(CGX_TOPO_PROCESSORS, &topo) != CGX_OK)
        return CGX_ERR_INVALID;
    for (unsigned i = 0; (node = cgx_topo_object(topo, HWLOC_OBJ_NUMANODE, i)) != NULL; i++)
        if (node->os_index == numa_node)
            break;
    if (!node) {
        cgx_log(CGX_LOG_DEBUG, "memory is not bound: there is no NUMA node %u", numa_node);
        return CGX_ERR_INVALID;
    }
    if (topo->hwloc->set_area_membind(topo->topology, memory, bytes, node->nodeset,
                                      HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET) != 0) {
        cgx_log(CGX_LOG_DEBUG, "memory is not bound to NUMA node %u: %s", numa_node,
                strerror(errno));
        return CGX_ERR_INVALID;
    }
    return CGX_OK;
}
