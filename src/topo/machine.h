/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What this machine is made of, and where its GPUs are in it, as hwloc sees it. libhwloc.so.15 is
 * opened at the first question and stays open; none.c is for builds without hwloc. All of this is
 * thread-safe. hwloc itself honours its variables: HWLOC_XMLFILE and HWLOC_SYNTHETIC show another
 * machine than this one. In a set-uid program, whose environment is another user's, it is not
 * opened. */
#ifndef CGX_TOPO_MACHINE_H
#define CGX_TOPO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/status.h"

/* Of a package or NUMA node: there is none, or it cannot be told which one. */
#define CGX_TOPO_UNKNOWN (-1)

/* With the end of the string. */
#define CGX_TOPO_BUS_ID_BYTES 24
#define CGX_TOPO_NAME_BYTES 64

/* A machine. Questions about it take microseconds and change nothing. */
struct cgx_topo;

/* What to look for. Devices are those that the kernel's files tell of: neither a CUDA nor an OpenCL
 * nor an X library is asked, which would start a driver in the program. */
enum cgx_topo_detail { CGX_TOPO_PROCESSORS, CGX_TOPO_DEVICES };

/* The machine that this process runs on, or what of it a container shows. Looked at once per
 * process and detail, which takes from 5 ms (processors, one package) to some 100 ms (devices,
 * large servers); the library keeps it, also when it fails. CGX_ERR_INVALID: built without hwloc,
 * no usable libhwloc is installed, or it could not find out; CGX_ERR_NOMEM: no memory. */
enum cgx_status cgx_topo_here(enum cgx_topo_detail detail, const struct cgx_topo **topo);

/* A kind that hwloc does not see (packages within some virtual machines) counts 0. */
struct cgx_topo_machine {
    unsigned packages;
    unsigned numa_nodes;
    unsigned cores;
    unsigned processing_units; /* hardware threads that this process may see */
};

void cgx_topo_machine(const struct cgx_topo *topo, struct cgx_topo_machine *machine);

/* Questions about what is at a PLACE count from 0, in hwloc's order. CGX_ERR_INVALID: there are not
 * as many. Packages are known by their place. */

struct cgx_topo_package {
    unsigned cores;
    unsigned processing_units;
};

enum cgx_status cgx_topo_package(const struct cgx_topo *topo, unsigned place,
                                 struct cgx_topo_package *package);

/* NUMA nodes are known by the number that the system gives them, which may leave some out. */
struct cgx_topo_numa_node {
    unsigned number;
    int package; /* that all its cores belong to, or CGX_TOPO_UNKNOWN */
    unsigned cores;
    uint64_t bytes; /* of memory; 0: unknown */
};

enum cgx_status cgx_topo_numa_node(const struct cgx_topo *topo, unsigned place,
                                   struct cgx_topo_numa_node *node);

/* Where the calling thread may run; it is the one that calls MPI and copies. */
struct cgx_topo_place {
    int package;   /* CGX_TOPO_UNKNOWN: more than one, or hwloc sees none */
    int numa_node; /* its number, or CGX_TOPO_UNKNOWN */
    unsigned cores;
    unsigned processing_units;
};

/* CGX_ERR_INVALID: the system does not say; CGX_ERR_NOMEM: no memory. For a machine that is not
 * this one: all of it. */
enum cgx_status cgx_topo_place(const struct cgx_topo *topo, struct cgx_topo_place *place);

/* A GPU, and what is near it. Bus ids are domain:bus:device.function, as 0000:3b:00.0. */
struct cgx_topo_gpu {
    char bus_id[CGX_TOPO_BUS_ID_BYTES];
    int package; /* or CGX_TOPO_UNKNOWN */
    /* The number of the nearest NUMA node, or CGX_TOPO_UNKNOWN. Where several kinds of memory are
     * as near, the least number: that is ordinary memory. */
    int numa_node;
    /* The upstream port of the PCI switch that it hangs on; "": on a port of the processor. GPUs of
     * one switch, and no others, have the same one. */
    char pci_switch[CGX_TOPO_BUS_ID_BYTES];
    /* The network interface with the longest common PCI path, else one of the same package; of
     * several as near, an OpenFabrics device, else the first. "": it cannot be told. hwloc does not
     * know whether there is a cable in it. */
    char network[CGX_TOPO_NAME_BYTES];
};

/* GPUs of one switch follow each other. They are the display adapters and accelerators of NVIDIA,
 * and PCI devices that hwloc knows as devices of CUDA, NVML or OpenCL. What else has a screen, as a
 * server's management processor, is none. In a container there may be more than CUDA can use. There
 * are none without CGX_TOPO_DEVICES. */
enum cgx_status cgx_topo_gpu(const struct cgx_topo *topo, unsigned place, struct cgx_topo_gpu *gpu);

/* The one with this bus id, as CUDA's driver writes it: in hexadecimal digits of either case.
 * CGX_ERR_INVALID: it is no bus id, or there is no such PCI device. */
enum cgx_status cgx_topo_gpu_at(const struct cgx_topo *topo, const char *bus_id,
                                struct cgx_topo_gpu *gpu);

/* A network interface of the kernel, or an OpenFabrics device: those that belong to a device of the
 * machine, virtual ones apart. */
struct cgx_topo_network {
    char name[CGX_TOPO_NAME_BYTES];
    bool fabrics;
};

/* There are none without CGX_TOPO_DEVICES. */
enum cgx_status cgx_topo_network(const struct cgx_topo *topo, unsigned place,
                                 struct cgx_topo_network *network);

/* Asks the system for memory of a NUMA node, by its number, for the pages that hold BYTES at
 * MEMORY. To be called before they are first touched or pinned: those that have been stay where
 * they are. Where the node is full another one serves. Costs a system call, and once what
 * cgx_topo_here with CGX_TOPO_PROCESSORS costs. CGX_ERR_INVALID: there is no such node, the system
 * refuses (as containers may), or the machine is unknown; the memory is as good as before. */
enum cgx_status cgx_topo_bind(void *memory, size_t bytes, unsigned numa_node);

/* The version of hwloc's interface that this was built for, or "none". */
const char *cgx_topo_build(void);

/* ---- other machines, for tests ---- */

/* Machines other than this one, for tests. */

enum cgx_topo_source {
    CGX_TOPO_LIVE,      /* this machine, or what hwloc's variables say; no text */
    CGX_TOPO_SYNTHETIC, /* a description, as "pack:2 numa:1 core:4 pu:2"; never has devices */
    CGX_TOPO_XML        /* a file that hwloc's tools wrote */
};

/* Looks at a machine anew, each time. Status and cost are those of cgx_topo_here; CGX_ERR_INVALID
 * also for a text that hwloc does not understand. To be freed. */
enum cgx_status cgx_topo_load(enum cgx_topo_source source, const char *text,
                              enum cgx_topo_detail detail, struct cgx_topo **topo);
void cgx_topo_free(struct cgx_topo *topo);

#endif
