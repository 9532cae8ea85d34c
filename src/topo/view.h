/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Hwloc and a machine loaded with it, shared by the files that call hwloc. */
#ifndef CGX_TOPO_VIEW_H
#define CGX_TOPO_VIEW_H

#include <hwloc.h>

#include "topo/machine.h"

/* The hwloc functions that are used: types from its header, addresses from dlsym. Of its inline
 * functions only those that call no others may be used. */
#define CGX_HWLOC_FUNCTIONS(X)      \
    X(get_api_version)              \
    X(topology_init)                \
    X(topology_set_synthetic)       \
    X(topology_set_xml)             \
    X(topology_set_components)      \
    X(topology_set_io_types_filter) \
    X(topology_load)                \
    X(topology_destroy)             \
    X(get_type_depth)               \
    X(get_nbobjs_by_depth)          \
    X(get_obj_by_depth)             \
    X(set_area_membind)             \
    X(bitmap_intersects)            \
    X(bitmap_isincluded)            \
    X(bitmap_weight)

struct cgx_hwloc {
#define CGX_HWLOC_MEMBER(function) __typeof__(hwloc_##function) *function;
    CGX_HWLOC_FUNCTIONS(CGX_HWLOC_MEMBER)
#undef CGX_HWLOC_MEMBER
};

struct cgx_topo {
    const struct cgx_hwloc *hwloc;
    hwloc_topology_t topology;
};

/* Object number PLACE of a type, in hwloc's order; NULL behind the last. */
hwloc_obj_t cgx_topo_object(const struct cgx_topo *topo, hwloc_obj_type_t type, unsigned place);

/* The number of the NUMA node near all of SET, or CGX_TOPO_UNKNOWN. */
int cgx_topo_node_of(const struct cgx_topo *topo, hwloc_const_cpuset_t set);

#endif
