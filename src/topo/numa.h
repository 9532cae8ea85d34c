/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory near devices, as the kernel says it. */
#ifndef CGX_TOPO_NUMA_H
#define CGX_TOPO_NUMA_H

#include <stddef.h>

#include "util/status.h"

/* A NUMA node that does not exist or is unknown. */
#define CGX_NUMA_UNKNOWN (-1)

/* Including the terminating zero. */
#define CGX_NUMA_BUS_ID_BYTES 24

/* The number of the NUMA node nearest to the device with this PCI bus id
 * (domain:bus:device.function in hexadecimal of either case, as the CUDA driver writes it), or
 * CGX_NUMA_UNKNOWN. FOLDER is like /sys/bus/pci/devices. */
int cgx_numa_node_near(const char *folder, const char *bus_id);

/* Asks the system for memory of NODE for the BYTES at MEMORY, which begin with a page. Call it
 * before they are touched or pinned; touched pages stay. If the node is full another one is used.
 * Costs a system call. CGX_ERR_INVALID: no such node, or refused by the system (as in containers);
 * the memory is still usable. */
enum cgx_status cgx_numa_bind(void *memory, size_t bytes, unsigned node);

#endif
