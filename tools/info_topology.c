/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <inttypes.h>
#include <stdio.h>

#include "coll/schedule.h"
#include "topo/machine.h"

void info_print_network(void)
{
    struct cgx_topo_speed speed = cgx_topo_speed_here();

    if (speed.mbits > 0)
        printf("network        %s: %u Mbit/s\n", speed.name, speed.mbits);
    else
        printf("network        of unknown speed\n");
}

/* Prints the program by which rank 0 of NODES nodes of MEMBERS ranks sums a large buffer. */
static void print_program(const struct cgx_settings *settings, unsigned nodes, unsigned members)
{
    enum { ELEMENTS = 1 << 24, MOST = 64 };
    const struct cgx_plan plan = cgx_plan_of(settings, NULL, CGX_FLOAT32, ELEMENTS);
    struct cgx_scheme scheme = {.leaders = settings->cross_reduction == CGX_REDUCTION_LEADERS,
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
    if (settings->cross_reduction == CGX_REDUCTION_LEADERS)
        printf("reduce over %s local ranks to a leader, all-reduce between %s leaders", ranks,
               nodes);
    else
        printf("reduce-scatter over %s local ranks, all-reduce of each shard between %s nodes",
               ranks, nodes);
    printf(", share inside the node\n");
    print_program(settings, (unsigned)n, (unsigned)l);
}
