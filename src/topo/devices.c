/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory near devices, and network interfaces. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "topo/view.h"

static bool has_bus_id(const struct hwloc_pcidev_attr_s *device, const unsigned wanted[4])
{
    return device->domain == wanted[0] && device->bus == wanted[1] && device->dev == wanted[2] &&
           device->func == wanted[3];
}

static bool is_network(hwloc_obj_t device)
{
    return (device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
            device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) &&
           device->name != NULL;
}

int cgx_topo_node_near(const struct cgx_topo *topo, const char *bus_id)
{
    unsigned wanted[4]; /* the domain, bus, device and function that are looked for */
    hwloc_obj_t device;
    int end = 0;

    if (sscanf(bus_id, "%8x:%2x:%2x.%1x%n", &wanted[0], &wanted[1], &wanted[2], &wanted[3], &end) !=
            4 ||
        bus_id[end] != '\0')
        return CGX_TOPO_UNKNOWN;
    for (unsigned i = 0; (device = cgx_topo_object(topo, HWLOC_OBJ_PCI_DEVICE, i)) != NULL; i++)
        if (has_bus_id(&device->attr->pcidev, wanted))
            return cgx_topo_node_of(topo,
                                    hwloc_get_non_io_ancestor_obj(topo->topology, device)->cpuset);
    return CGX_TOPO_UNKNOWN;
}

enum cgx_status cgx_topo_network(const struct cgx_topo *topo, unsigned place,
                                 struct cgx_topo_network *network)
{
    hwloc_obj_t object;

    for (unsigned i = 0; (object = cgx_topo_object(topo, HWLOC_OBJ_OS_DEVICE, i)) != NULL; i++) {
        if (!is_network(object) || place-- > 0)
            continue;
        snprintf(network->name, sizeof network->name, "%s", object->name);
        network->fabrics = object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
        return CGX_OK;
    }
    return CGX_ERR_INVALID;
}
