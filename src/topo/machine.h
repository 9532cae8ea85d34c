/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The parts of this machine and the location of its GPUs, from hwloc. libhwloc.so.15 is opened on
 * first use and stays open; no_hwloc.c is for builds without hwloc. Thread-safe. hwloc obeys its
 * own variables: HWLOC_XMLFILE and HWLOC_SYNTHETIC describe another machine. It is not opened in
 * set-uid programs, whose environment is another user's. */
#ifndef CGX_TOPO_MACHINE_H
#define CGX_TOPO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/status.h"

/* A package or NUMA node that does not exist or is unknown. */
#define CGX_TOPO_UNKNOWN (-1)

/* Including the terminating zero. */
#define CGX_TOPO_BUS_ID_BYTES 24
#define CGX_TOPO_NAME_BYTES 64

/* A machine. Queries take microseconds and change nothing. */
struct cgx_topo;

/* What to look for. Devices come from the kernel's files; CUDA, OpenCL and X libraries, which would
 * start a driver in the program, are not used. */
enum cgx_topo_detail { CGX_TOPO_PROCESSORS, CGX_TOPO_DEVICES };

/* The machine that this process runs on, as far as its container shows it. It is examined once per
 * process and detail, in 5 ms (processors, one package) to some 100 ms (devices, large servers).
 * The library stores the result, a failure too. CGX_ERR_INVALID: built without hwloc, no usable
 * libhwloc, or hwloc failed; CGX_ERR_NOMEM. */
enum cgx_status cgx_topo_here(enum cgx_topo_detail detail, const struct cgx_topo **topo);

/* A count is 0 if hwloc does not see such parts (packages in some virtual machines). */
struct cgx_topo_machine {
    unsigned packages;
    unsigned numa_nodes;
    unsigned cores;
    unsigned processing_units; /* hardware threads visible to this process */
};

void cgx_topo_machine(const struct cgx_topo *topo, struct cgx_topo_machine *machine);

/* PLACE counts from 0 in hwloc's order. CGX_ERR_INVALID: there are not as many. Packages are
 * identified by place. */

struct cgx_topo_package {
    unsigned cores;
    unsigned processing_units;
};

enum cgx_status cgx_topo_package(const struct cgx_topo *topo, unsigned place,
                                 struct cgx_topo_package *package);

/* A NUMA node, identified by the system's number, which may skip some. */
struct cgx_topo_numa_node {
    unsigned number;
    int package; /* the package of all its cores, or CGX_TOPO_UNKNOWN */
    unsigned cores;
    uint64_t bytes; /* bytes of memory; 0: unknown */
};

enum cgx_status cgx_topo_numa_node(const struct cgx_topo *topo, unsigned place,
                                   struct cgx_topo_numa_node *node);

/* Where the calling thread may run; it should be the one that calls MPI and copies. */
struct cgx_topo_place {
    int package;   /* the package, or CGX_TOPO_UNKNOWN if there are several or hwloc sees none */
    int numa_node; /* the node's number, or CGX_TOPO_UNKNOWN */
    unsigned cores;
    unsigned processing_units;
};

/* The place of the calling thread; if TOPO is another machine, all of it. CGX_ERR_INVALID: the
 * system does not say; CGX_ERR_NOMEM. */
enum cgx_status cgx_topo_place(const struct cgx_topo *topo, struct cgx_topo_place *place);

/* A GPU and its neighbourhood. Bus ids are domain:bus:device.function, as 0000:3b:00.0. */
struct cgx_topo_gpu {
    char bus_id[CGX_TOPO_BUS_ID_BYTES];
    int package;
    /* The nearest NUMA node's number, or CGX_TOPO_UNKNOWN. Of several kinds of memory equally near,
     * the least number: ordinary memory. */
    int numa_node;
    /* The upstream port of its PCI switch; "" if it is on a port of the processor. Equal only for
     * GPUs of the same switch. */
    char pci_switch[CGX_TOPO_BUS_ID_BYTES];
    /* The network interface with the longest common PCI path, otherwise one of the same package; of
     * several, an OpenFabrics device, otherwise the first. "": unknown. hwloc does not know whether
     * a cable is connected. */
    char network[CGX_TOPO_NAME_BYTES];
};

/* GPU number PLACE; GPUs of one switch are consecutive. GPUs are display adapters and accelerators
 * of NVIDIA, and PCI devices that hwloc knows as devices of CUDA, NVML or OpenCL; other display
 * adapters, such as a server's management processor, are not. A container may show more GPUs than
 * CUDA can use. Without CGX_TOPO_DEVICES there are none. */
enum cgx_status cgx_topo_gpu(const struct cgx_topo *topo, unsigned place, struct cgx_topo_gpu *gpu);

/* The GPU with this bus id, in hexadecimal of either case, as the CUDA driver writes it.
 * CGX_ERR_INVALID: no bus id, or no such PCI device. */
enum cgx_status cgx_topo_gpu_at(const struct cgx_topo *topo, const char *bus_id,
                                struct cgx_topo_gpu *gpu);

/* A network interface of the kernel or an OpenFabrics device that belongs to a device of the
 * machine; not virtual. */
struct cgx_topo_network {
    char name[CGX_TOPO_NAME_BYTES];
    bool fabrics;
};

/* Network interface number PLACE; without CGX_TOPO_DEVICES there are none. */
enum cgx_status cgx_topo_network(const struct cgx_topo *topo, unsigned place,
                                 struct cgx_topo_network *network);

/* Asks the system for memory of the NUMA node with that number, for the pages of BYTES at MEMORY.
 * Call it before they are touched or pinned; touched pages stay. If the node is full another one is
 * used. Costs a system call, and once what cgx_topo_here costs for CGX_TOPO_PROCESSORS.
 * CGX_ERR_INVALID: no such node, refused by the system (as in containers), or unknown machine; the
 * memory is still usable. */
enum cgx_status cgx_topo_bind(void *memory, size_t bytes, unsigned numa_node);

/* The version of hwloc's interface at build time, or "none". */
const char *cgx_topo_build(void);

/* ---- other machines, for tests ---- */

enum cgx_topo_source {
    CGX_TOPO_LIVE,      /* this machine, or what hwloc's variables say; no text */
    CGX_TOPO_SYNTHETIC, /* a description, as "pack:2 numa:1 core:4 pu:2"; never has devices */
    CGX_TOPO_XML        /* a file written by hwloc's tools */
};

/* Examines a machine anew in each call. Status and cost as cgx_topo_here; CGX_ERR_INVALID also for
 * a text that hwloc does not accept. Free with cgx_topo_free. */
enum cgx_status cgx_topo_load(enum cgx_topo_source source, const char *text,
                              enum cgx_topo_detail detail, struct cgx_topo **topo);
void cgx_topo_free(struct cgx_topo *topo);

#endif
