/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "coll/schedule.h"
#include "topo/machine.h"
#include "topo/speed.h"

#define INDENT 2

static void print_gpu(const struct cgx_topo_gpu *gpu, int indent)
{
    printf("%*sGPU %s: NUMA node ", indent, "", gpu->bus_id);
    if (gpu->numa_node == CGX_TOPO_UNKNOWN)
        printf("unknown");
    else
        printf("%d", gpu->numa_node);
    printf(", network interface %s\n", gpu->network[0] == '\0' ? "unknown" : gpu->network);
}

/* Those of a NUMA node; where that is unknown those of a package, known or not. */
static void draw_gpus(const struct cgx_topo *topo, int package, int numa_node, int indent)
{
    struct cgx_topo_gpu gpu;
    char previous[CGX_TOPO_BUS_ID_BYTES] = "";

    for (unsigned i = 0; cgx_topo_gpu(topo, i, &gpu) == CGX_OK; i++) {
        if (gpu.numa_node != numa_node || (numa_node == CGX_TOPO_UNKNOWN && gpu.package != package))
            continue;
        if (gpu.pci_switch[0] != '\0' && strcmp(gpu.pci_switch, previous) != 0)
            printf("%*sPCI switch %s\n", indent, "", gpu.pci_switch);
        memcpy(previous, gpu.pci_switch, sizeof previous);
        print_gpu(&gpu, gpu.pci_switch[0] == '\0' ? indent : indent + INDENT);
    }
}

/* Those that belong to PACKAGE, which may be CGX_TOPO_UNKNOWN. */
static void draw_numa_nodes(const struct cgx_topo *topo, int package, int indent)
{
    struct cgx_topo_numa_node node;

    for (unsigned i = 0; cgx_topo_numa_node(topo, i, &node) == CGX_OK; i++) {
        if (node.package != package)
            continue;
        printf("%*sNUMA node %u (cores: %u, memory: %.1f GiB)\n", indent, "", node.number,
               node.cores, (double)node.bytes / (1 << 30));
        draw_gpus(topo, package, (int)node.number, indent + INDENT);
    }
    draw_gpus(topo, package, CGX_TOPO_UNKNOWN, indent);
}

static void print_place(const struct cgx_topo *topo)
{
    struct cgx_topo_machine machine;
    struct cgx_topo_place place;

    if (cgx_topo_place(topo, &place) != CGX_OK)
        return;
    cgx_topo_machine(topo, &machine);
    printf("this process   may use %u of %u processing units, %u of %u cores",
           place.processing_units, machine.processing_units, place.cores, machine.cores);
    if (place.package != CGX_TOPO_UNKNOWN)
        printf(", package %d", place.package);
    if (place.numa_node != CGX_TOPO_UNKNOWN)
        printf(", NUMA node %d", place.numa_node);
    printf("\n");
}

/* The one whose speed the size of fragments follows. */
static void print_network(void)
{
    struct cgx_topo_speed speed = cgx_topo_speed_here();

    if (speed.mbits > 0)
        printf("network        %s: %u Mbit/s\n", speed.name, speed.mbits);
    else
        printf("network        of unknown speed\n");
}

void info_draw_machine(void)
{
    const struct cgx_topo *topo;
    struct cgx_topo_machine machine;
    struct cgx_topo_package package;
    struct cgx_topo_gpu gpu;
    unsigned gpus = 0;

    if (cgx_topo_here(CGX_TOPO_DEVICES, &topo) != CGX_OK) {
        printf("machine        unknown: no usable hwloc\n");
        return;
    }
    cgx_topo_machine(topo, &machine);
    while (cgx_topo_gpu(topo, gpus, &gpu) == CGX_OK)
        gpus++;
    printf("machine        packages: %u, NUMA nodes: %u, cores: %u, GPUs: %u\n", machine.packages,
           machine.numa_nodes, machine.cores, gpus);
    for (unsigned i = 0; cgx_topo_package(topo, i, &package) == CGX_OK; i++) {
        printf("%*spackage %u (cores: %u, processing units: %u)\n", INDENT, "", i, package.cores,
               package.processing_units);
        draw_numa_nodes(topo, (int)i, 2 * INDENT);
    }
    draw_numa_nodes(topo, CGX_TOPO_UNKNOWN, INDENT);
    print_place(topo);
    print_network();
}

/* Prints the program by which rank 0 of NODES nodes of MEMBERS ranks sums a large buffer. */
static void print_program(const struct cgx_settings *settings, unsigned nodes, unsigned members)
{
    enum { ELEMENTS = 1 << 24, MOST = 64 };
    const struct cgx_plan plan = cgx_plan_of(settings, NULL, CGX_FLOAT32, ELEMENTS);
    struct cgx_scheme scheme = {.leaders = settings->leaders,
                                .inter = settings->cross_reduction,
                                .network = cgx_cost_network(UINT64_C(10000000000), false)};
    struct cgx_nodes *those = NULL;
    struct cgx_schedule schedule;
    int keys[MOST];

    if (nodes > MOST || members > MOST || nodes * members < 2 || nodes * members > MOST)
        return;
    for (unsigned rank = 0; rank < nodes * members; rank++)
        keys[rank] = (int)(rank / members);
    those = cgx_nodes_create(keys, nodes * members);
    if (!those)
        return;
    scheme.nodes = scheme.flat = those;
    schedule = cgx_coll_schedule(&plan, &scheme, settings->fusion_buffer_bytes);
    printf("rank 0         owns the last of %u places, of a large sum:\n", schedule.program.parts);
    info_print_program(stdout, &schedule.program);
    cgx_nodes_free(those);
}

void info_print_stages(const struct cgx_settings *settings)
{
    char nodes[24] = "N", ranks[24] = "L";
    uint64_t n = settings->topology >> 32, l = settings->topology & UINT32_MAX;

    printf("stages         ");
    if (!settings->valid || !settings->enable) {
        printf("none: every call is exact (see cgx-info --settings)\n");
        return;
    }
    if (settings->topology == CGX_TOPOLOGY_AUTO) {
        printf("auto: of N nodes with L ranks each, as MPI finds them: ");
    } else if (settings->topology == CGX_TOPOLOGY_FLAT || n == 1 || l == 1) {
        printf("flat: one all-reduce between all ranks\n");
        print_program(settings, (unsigned)n, (unsigned)l);
        return;
    } else {
        snprintf(nodes, sizeof nodes, "%" PRIu64, n);
        snprintf(ranks, sizeof ranks, "%" PRIu64, l);
        printf("%s nodes of %s ranks: ", nodes, ranks);
    }
    if (settings->leaders)
        printf("reduce over %s local ranks to a leader, all-reduce between %s leaders", ranks,
               nodes);
    else
        printf("reduce-scatter over %s local ranks, all-reduce of each shard between %s nodes",
               ranks, nodes);
    printf(", share inside the node\n");
    print_program(settings, (unsigned)n, (unsigned)l);
}
