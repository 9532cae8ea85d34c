/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What this machine has, and which memory is near its GPUs, from hwloc. libhwloc.so.15 is opened on
 * first use and stays open; no_hwloc.c is for builds without hwloc. Thread-safe. hwloc obeys its
 * own variables: HWLOC_XMLFILE and HWLOC_SYNTHETIC describe another machine. It is not opened in
 * set-uid programs, whose environment is another user's. */
#ifndef CGX_TOPO_MACHINE_H
#define CGX_TOPO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/status.h"

/* A NUMA node that does not exist or is unknown. */
#define CGX_TOPO_UNKNOWN (-1)

/* Including the terminating zero. */
#define CGX_TOPO_BUS_ID_BYTES 24

/* A machine, as hwloc has it; NULL: it is unknown. Queries take microseconds and change nothing. */
struct hwloc_topology;

/* What to look for. Devices come from the kernel's files; CUDA, OpenCL and X libraries, which would
 * start a driver in the program, are not used. */
enum cgx_topo_detail { CGX_TOPO_PROCESSORS, CGX_TOPO_DEVICES };

/* The machine that this process runs on, as far as its container shows it. It is examined once per
 * process and detail, in 5 ms (processors, one package) to some 100 ms (devices, large servers).
 * The library stores the result, a failure too. */
struct hwloc_topology *cgx_topo_here(enum cgx_topo_detail detail);

/* A count is 0 if hwloc does not see such parts (packages in some virtual machines), or no machine.
 */
struct cgx_topo_machine {
    unsigned packages;
    unsigned numa_nodes;
    unsigned cores;
    unsigned processing_units; /* hardware threads visible to this process */
};

struct cgx_topo_machine cgx_topo_machine(struct hwloc_topology *topo);

/* The number of the NUMA node nearest to the device with this PCI bus id
 * (domain:bus:device.function in hexadecimal of either case, as the CUDA driver writes it), or
 * CGX_TOPO_UNKNOWN. Of several kinds of memory equally near, the least number: ordinary memory.
 * Without CGX_TOPO_DEVICES there are no devices. */
int cgx_topo_node_near(struct hwloc_topology *topo, const char *bus_id);

/* Asks the system for memory of the NUMA node with that number, for the pages of BYTES at MEMORY.
 * Call it before they are touched or pinned; touched pages stay. If the node is full another one is
 * used. Costs a system call, and once what cgx_topo_here costs for CGX_TOPO_PROCESSORS.
 * CGX_ERR_INVALID: no such node, refused by the system (as in containers), or unknown machine; the
 * memory is still usable. */
enum cgx_status cgx_topo_bind(void *memory, size_t bytes, unsigned numa_node);

/* The version of hwloc's interface at build time, or "none". */
const char *cgx_topo_build(void);

/* ---- the speed of its network (speed.c), as the system reports it ---- */

#define CGX_TOPO_NAME_BYTES 64 /* with the terminating zero */

struct cgx_topo_speed {
    unsigned mbits; /* Mbit/s; 0: unknown */
    char name[CGX_TOPO_NAME_BYTES];
};

/* The fastest OpenFabrics device with an active port or, without one, the fastest network interface
 * that is up. Virtual ones, but for bonds, are ignored, and those that tell no speed, as in virtual
 * machines. Which interface MPI uses is unknown here. FOLDER is like /sys/class. */
struct cgx_topo_speed cgx_topo_speed(const char *folder);

/* The same for the machine that this process runs on, examined once per process. Thread-safe. */
struct cgx_topo_speed cgx_topo_speed_here(void);

/* Reads the system's file at PATH, which is a short LINE. */
#define CGX_TOPO_LINE_BYTES 64
bool cgx_topo_line(const char *path, char line[CGX_TOPO_LINE_BYTES]);

/* ---- other machines, for tests ---- */

/* Examines the machine that hwloc's variables describe now, as cgx_topo_here. Free with
 * cgx_topo_free. */
struct hwloc_topology *cgx_topo_load(enum cgx_topo_detail detail);
void cgx_topo_free(struct hwloc_topology *topo);

#endif
