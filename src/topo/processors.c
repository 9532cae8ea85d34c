/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Packages, NUMA nodes and cores, and where threads and memory are among them. */

#include <errno.h>
#include <string.h>

#include "topo/view.h"
#include "util/log.h"

/* Objects that an irregular machine has at several depths are not counted. */
unsigned cgx_topo_count(const struct cgx_topo *topo, hwloc_obj_type_t type)
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

static unsigned count_cores(const struct cgx_topo *topo, hwloc_const_cpuset_t set)
{
    unsigned cores = 0;
    hwloc_obj_t core;

    for (unsigned i = 0; (core = cgx_topo_object(topo, HWLOC_OBJ_CORE, i)) != NULL; i++)
        cores += topo->hwloc->bitmap_intersects(core->cpuset, set) != 0;
    return cores;
}

int cgx_topo_package_of(const struct cgx_topo *topo, hwloc_const_cpuset_t set)
{
    hwloc_obj_t package;

    for (unsigned i = 0; (package = cgx_topo_object(topo, HWLOC_OBJ_PACKAGE, i)) != NULL; i++)
        if (topo->hwloc->bitmap_isincluded(set, package->cpuset))
            return (int)i;
    return CGX_TOPO_UNKNOWN;
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
    machine->packages = cgx_topo_count(topo, HWLOC_OBJ_PACKAGE);
    machine->numa_nodes = cgx_topo_count(topo, HWLOC_OBJ_NUMANODE);
    machine->cores = cgx_topo_count(topo, HWLOC_OBJ_CORE);
    machine->processing_units = cgx_topo_count(topo, HWLOC_OBJ_PU);
}

enum cgx_status cgx_topo_package(const struct cgx_topo *topo, unsigned place,
                                 struct cgx_topo_package *package)
{
    hwloc_obj_t object = cgx_topo_object(topo, HWLOC_OBJ_PACKAGE, place);

    if (!object)
        return CGX_ERR_INVALID;
    package->cores = count_cores(topo, object->cpuset);
    package->processing_units = (unsigned)topo->hwloc->bitmap_weight(object->cpuset);
    return CGX_OK;
}

enum cgx_status cgx_topo_numa_node(const struct cgx_topo *topo, unsigned place,
                                   struct cgx_topo_numa_node *node)
{
    hwloc_obj_t object = cgx_topo_object(topo, HWLOC_OBJ_NUMANODE, place);

    if (!object)
        return CGX_ERR_INVALID;
    node->number = object->os_index;
    node->package = cgx_topo_package_of(topo, object->cpuset);
    node->cores = count_cores(topo, object->cpuset);
    node->bytes = object->attr->numanode.local_memory;
    return CGX_OK;
}

enum cgx_status cgx_topo_place(const struct cgx_topo *topo, struct cgx_topo_place *place)
{
    const struct cgx_hwloc *hwloc = topo->hwloc;
    hwloc_obj_t machine = cgx_topo_object(topo, HWLOC_OBJ_MACHINE, 0);
    hwloc_bitmap_t set = hwloc->bitmap_alloc();
    enum cgx_status status = CGX_ERR_NOMEM;

    if (!set)
        return status;
    status = CGX_ERR_INVALID;
    if (hwloc->get_cpubind(topo->topology, set, HWLOC_CPUBIND_THREAD) != 0 ||
        hwloc->bitmap_and(set, set, machine->cpuset) != 0 || hwloc->bitmap_iszero(set))
        goto free_set;
    place->package = cgx_topo_package_of(topo, set);
    place->numa_node = cgx_topo_node_of(topo, set);
    place->cores = count_cores(topo, set);
    place->processing_units = (unsigned)hwloc->bitmap_weight(set);
    status = CGX_OK;
free_set:
    hwloc->bitmap_free(set);
    return status;
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
