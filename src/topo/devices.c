/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* GPUs with the PCI switch, package, memory and network interface near them; network interfaces. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "topo/view.h"

#define VENDOR_NVIDIA 0x10DE
#define BASE_CLASS_DISPLAY 0x03

static bool is_computing(hwloc_obj_t device)
{
    static const char *const names[] = {"cuda", "nvml", "opencl"};

    if (device->type != HWLOC_OBJ_OS_DEVICE || !device->name)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(device->name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_gpu(hwloc_obj_t device)
{
    if (device->attr->pcidev.vendor_id == VENDOR_NVIDIA &&
        device->attr->pcidev.class_id >> 8 == BASE_CLASS_DISPLAY)
        return true;
    for (hwloc_obj_t child = device->io_first_child; child; child = child->next_sibling)
        if (is_computing(child))
            return true;
    return false;
}

static void write_bus_id(const struct hwloc_pcidev_attr_s *device, char *bus_id)
{
    snprintf(bus_id, CGX_TOPO_BUS_ID_BYTES, "%04x:%02x:%02x.%x", (unsigned)device->domain,
             (unsigned)device->bus, (unsigned)device->dev, (unsigned)device->func);
}

static bool has_bus_id(const struct hwloc_pcidev_attr_s *device, const unsigned wanted[4])
{
    return device->domain == wanted[0] && device->bus == wanted[1] && device->dev == wanted[2] &&
           device->func == wanted[3];
}

static bool is_port(hwloc_obj_t object)
{
    return object && object->type == HWLOC_OBJ_BRIDGE &&
           object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/* Above a device behind a switch are the switch's downstream port, its upstream port, and a port of
 * the processor or of another switch. */
static void write_switch(hwloc_obj_t device, char *bus_id)
{
    hwloc_obj_t upstream = is_port(device->parent) ? device->parent->parent : NULL;

    bus_id[0] = '\0';
    if (is_port(upstream) && is_port(upstream->parent))
        write_bus_id(&upstream->attr->bridge.upstream.pci, bus_id);
}

/* The machine has depth 0. */
static unsigned depth_of(hwloc_obj_t object)
{
    unsigned depth = 0;

    while ((object = object->parent) != NULL)
        depth++;
    return depth;
}

static bool is_within(hwloc_obj_t object, hwloc_obj_t ancestor)
{
    while (object && object != ancestor)
        object = object->parent;
    return object != NULL;
}

/* How near an interface is to a device: larger is nearer, 0 is not near. */
static unsigned nearness_of(const struct cgx_topo *topo, hwloc_obj_t device, hwloc_obj_t interface)
{
    bool fabrics = interface->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    hwloc_obj_t common = device;

    while (!is_within(interface, common))
        common = common->parent;
    if (common->cpuset && cgx_topo_count(topo, HWLOC_OBJ_PACKAGE) > 0 &&
        cgx_topo_package_of(topo, common->cpuset) == CGX_TOPO_UNKNOWN)
        return 0;
    return 2 * depth_of(common) + 1 + fabrics;
}

static bool is_network(hwloc_obj_t device)
{
    return (device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
            device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) &&
           device->name != NULL;
}

static void write_network(const struct cgx_topo *topo, hwloc_obj_t device, char *name)
{
    unsigned near, nearest = 0;
    hwloc_obj_t object;

    name[0] = '\0';
    for (unsigned i = 0; (object = cgx_topo_object(topo, HWLOC_OBJ_OS_DEVICE, i)) != NULL; i++) {
        if (!is_network(object))
            continue;
        near = nearness_of(topo, device, object);
        if (near > nearest) {
            nearest = near;
            snprintf(name, CGX_TOPO_NAME_BYTES, "%s", object->name);
        }
    }
}

static void describe_gpu(const struct cgx_topo *topo, hwloc_obj_t device, struct cgx_topo_gpu *gpu)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topo->topology, device);

    write_bus_id(&device->attr->pcidev, gpu->bus_id);
    gpu->package = cgx_topo_package_of(topo, near->cpuset);
    gpu->numa_node = cgx_topo_node_of(topo, near->cpuset);
    write_switch(device, gpu->pci_switch);
    write_network(topo, device, gpu->network);
}

enum cgx_status cgx_topo_gpu(const struct cgx_topo *topo, unsigned place, struct cgx_topo_gpu *gpu)
{
    hwloc_obj_t device;

    for (unsigned i = 0; (device = cgx_topo_object(topo, HWLOC_OBJ_PCI_DEVICE, i)) != NULL; i++)
        if (is_gpu(device) && place-- == 0) {
            describe_gpu(topo, device, gpu);
            return CGX_OK;
        }
    return CGX_ERR_INVALID;
}

enum cgx_status cgx_topo_gpu_at(const struct cgx_topo *topo, const char *bus_id,
                                struct cgx_topo_gpu *gpu)
{
    unsigned wanted[4]; /* the domain, bus, device and function that are looked for */
    hwloc_obj_t device;
    int end = 0;

    if (sscanf(bus_id, "%8x:%2x:%2x.%1x%n", &wanted[0], &wanted[1], &wanted[2], &wanted[3], &end) !=
            4 ||
        bus_id[end] != '\0')
        return CGX_ERR_INVALID;
    for (unsigned i = 0; (device = cgx_topo_object(topo, HWLOC_OBJ_PCI_DEVICE, i)) != NULL; i++)
        if (has_bus_id(&device->attr->pcidev, wanted)) {
            describe_gpu(topo, device, gpu);
            return CGX_OK;
        }
    return CGX_ERR_INVALID;
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
