/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/connect.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "comm/ballot.h"
#include "comm/private_comm.h"
#include "mpi/config.h"
#include "mpi/stall.h"
#include "mpi/world.h"
#include "policy/cost.h"
#include "topo/machine.h"
#include "util/integers.h"
#include "util/log.h"

/* Bytes of fragments on slow and fast networks, and the highest speed that is slow. */
#define SLOW_FRAGMENT 16384
#define FAST_FRAGMENT 1048576
#define SLOW_MBITS 10000

/* ---- nodes ---- */

/* Ranks per node by CGX_TOPOLOGY; 0 if it sets none, or the job has another number of ranks. */
static int ranks_per_node(const struct cgx_comm *state)
{
    static atomic_bool warned;
    const uint64_t topology = cgx_config()->topology;
    const unsigned long long nodes = topology >> 32, ranks = topology & UINT32_MAX;
    const bool has_world = cgx_world_exists();
    const int all = has_world ? cgx_world_size() : state->size;

    if (topology == CGX_TOPOLOGY_AUTO)
        return 0;
    if (nodes * ranks == (unsigned long long)all)
        return (int)ranks;
    if ((has_world ? cgx_world_rank() : state->rank) == 0 && !atomic_exchange(&warned, true))
        cgx_log(CGX_LOG_WARN,
                "CGX_TOPOLOGY=%llux%llu is %llu ranks and the job has %d: ranks of one machine and "
                "host name share a node",
                nodes, ranks, nodes * ranks, all);
    return 0;
}

/* The key of this rank's node; BY_HOST: the one of its machine and host name. */
static int node_of(const struct cgx_comm *state, int by_host)
{
    int per_node;

    if (cgx_config()->topology == CGX_TOPOLOGY_FLAT)
        return state->rank;
    per_node = ranks_per_node(state);
    if (per_node == 0)
        return by_host;
    return (cgx_world_exists() ? cgx_world_rank() : state->rank) / per_node;
}

/* ---- network and pace ---- */

/* The network of NODES, as fast as the slowest rank finds it. On one node devices are taken for
 * linked if payloads may go from one to another. */
static struct cgx_network network_of(const struct cgx_nodes *nodes, uint32_t mbits)
{
    const struct cgx_settings *settings = cgx_config();
    const bool device = settings->buffers != CGX_BUFFERS_HOST;

    if (nodes->nodes == 1)
        return cgx_cost_node(device, settings->inner_transport != CGX_TRANSPORT_SHM &&
                                         settings->inner_transport != CGX_TRANSPORT_MPI);
    return cgx_cost_network((uint64_t)mbits * 1000000, device);
}

/* Sets STATE's scheme and pace, which both sides of a message must have in common. The size
 * of fragments depends on the network's speed, which is low if it is unknown or if all ranks are on
 * one node and send nothing over it. */
static void place_ranks(struct cgx_comm *state, struct cgx_placing *placing)
{
    const enum cgx_reduction inter = cgx_config()->cross_reduction;
    const size_t ranks = (size_t)state->size;
    uint32_t mbits = UINT32_MAX;
    bool has_processors;

    for (size_t i = 0; i < ranks; i++) {
        placing->keys[i] = placing->claims[i].node;
        mbits = (uint32_t)cgx_smaller(mbits, placing->claims[i].mbits);
    }
    has_processors = cgx_claims_fit(placing->claims, ranks, (size_t)state->rank);
    cgx_nodes_place(placing->nodes, placing->keys);
    state->scheme = (struct cgx_scheme){.nodes = placing->nodes,
                                        .flat = state->scheme.flat,
                                        .leaders = inter == CGX_REDUCTION_LEADERS,
                                        .inter = inter,
                                        .network = network_of(placing->nodes, mbits),
                                        .rank = (unsigned)state->rank};
    placing->nodes = NULL;
    state->pace =
        (struct cgx_pace){mbits > SLOW_MBITS ? FAST_FRAGMENT : SLOW_FRAGMENT, has_processors};
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG,
                "%d ranks: messages through MPI go in fragments of %zu bytes, over a network taken "
                "for one of %u Mbit/s; ranks of this machine %s",
                state->size, state->pace.fragment, (unsigned)mbits,
                has_processors ? "have a processor each, and do not sleep while they wait"
                               : "share processors, and sleep while they wait");
}

/* ---- both ---- */

static const char *grid_words(enum cgx_reduction reduction)
{
    if (reduction == CGX_REDUCTION_SRA)
        return "";
    return reduction == CGX_REDUCTION_GRID
               ? " (two between nodes, in a grid)"
               : " (two between nodes, in a grid if that takes less time)";
}

static void log_placement(const struct cgx_nodes *nodes)
{
    const enum cgx_reduction reduction = cgx_config()->cross_reduction;
    const char *in_grid = nodes->nodes < 4 ? "" : grid_words(reduction);

    if (nodes->nodes == 1 || nodes->most == 1)
        cgx_log(CGX_LOG_INFO, "sums of %u ranks on %u node%s: one stage%s", nodes->ranks,
                nodes->nodes, nodes->nodes == 1 ? "" : "s", in_grid);
    else
        cgx_log(CGX_LOG_INFO,
                "sums of %u ranks on %u nodes of %u to %u: a stage inside nodes, and one between "
                "them for each of %u shards%s",
                nodes->ranks, nodes->nodes, nodes->least, nodes->most,
                reduction == CGX_REDUCTION_LEADERS ? 1 : nodes->least, in_grid);
}

enum { READY, NODE }; /* a word and a pair */

void cgx_placement_begin(struct cgx_comm *state, struct cgx_placing *placing, uint32_t *words)
{
    const size_t ranks = (size_t)state->size;

    *placing = (struct cgx_placing){.mine = cgx_claim_make()};
    words[READY] = state->scheme.nodes != NULL;
    if (!words[READY]) {
        if (!state->scheme.flat)
            state->scheme.flat = cgx_nodes_create(NULL, (unsigned)ranks);
        placing->nodes = cgx_nodes_create(NULL, (unsigned)ranks);
        placing->claims = calloc(ranks, sizeof *placing->claims);
        placing->keys = calloc(ranks, sizeof *placing->keys);
        placing->mine.node = node_of(state, placing->mine.node);
        words[READY] = state->scheme.flat && placing->nodes && placing->claims && placing->keys;
    }
    cgx_ballot_pair(words + NODE, (uint32_t)placing->mine.node);
}

static int find_nodes(struct cgx_comm *state, struct cgx_placing *placing, bool alone)
{
    /* Examining the machine's devices takes time. */
    const unsigned mbits = alone ? 0 : cgx_topo_speed_here().mbits;
    int code;

    placing->mine.mbits = mbits > 0 ? mbits : SLOW_MBITS;
    code = cgx_mpi_gather(state->comm, &placing->mine, placing->claims, sizeof placing->mine);
    if (code != CGX_MPI_SUCCESS)
        return cgx_private_fail(state, code, "MPI could not find the nodes");
    place_ranks(state, placing);
    if (state->rank == 0)
        log_placement(state->scheme.nodes);
    return code;
}

int cgx_placement_end(struct cgx_comm *state, struct cgx_placing *placing, const uint32_t *words,
                      int code)
{
    if (code == CGX_MPI_SUCCESS && words[READY] && !state->scheme.nodes)
        code = find_nodes(state, placing, cgx_ballot_is_one(words + NODE));
    cgx_nodes_free(placing->nodes);
    free(placing->claims);
    free(placing->keys);
    return code;
}

void cgx_placement_unlink(struct cgx_comm *state)
{
    if (state->scheme.nodes->nodes == 1)
        state->scheme.network = cgx_cost_node(cgx_config()->buffers != CGX_BUFFERS_HOST, false);
}
