/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/nodes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "comm/pace.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/world.h"
#include "util/log.h"

/* ---- as CGX_TOPOLOGY says ---- */

/* The ranks of COMM in MPI_COMM_WORLD or, without one, in COMM. */
static bool world_ranks(const struct cgx_mpi *mpi, cgx_mpi_comm comm, int size, int *ranks)
{
    cgx_mpi_group members, world;
    int *own = calloc((size_t)size, sizeof *own);
    bool had = false;

    for (int i = 0; own && i < size; i++)
        own[i] = ranks[i] = i;
    if (!own || !cgx_world_exists()) {
        had = own != NULL;
        goto free_own;
    }
    if (mpi->Comm_group(comm, &members) != CGX_MPI_SUCCESS)
        goto free_own;
    if (mpi->Comm_group(mpi->COMM_WORLD, &world) != CGX_MPI_SUCCESS)
        goto free_members;
    had = mpi->Group_translate_ranks(members, size, own, world, ranks) == CGX_MPI_SUCCESS;
    mpi->Group_free(&world);
free_members:
    mpi->Group_free(&members);
free_own:
    free(own);
    return had;
}

/* Ranks per node, of a job that has as many as CGX_TOPOLOGY says; 0: it says nothing of this one.
 */
static int ranks_per_node(const struct cgx_mpi *mpi, cgx_mpi_comm comm, int size)
{
    static atomic_bool warned;
    uint64_t topology = cgx_config()->topology;
    unsigned long long nodes = topology >> 32, ranks = topology & UINT32_MAX;
    int all = size, rank = 0;

    if (topology == CGX_TOPOLOGY_AUTO || topology == CGX_TOPOLOGY_FLAT)
        return 0;
    if (cgx_world_exists()) {
        mpi->Comm_size(mpi->COMM_WORLD, &all);
        mpi->Comm_rank(mpi->COMM_WORLD, &rank);
    } else {
        mpi->Comm_rank(comm, &rank);
    }
    if (nodes * ranks == (unsigned long long)all)
        return (int)ranks;
    if (rank == 0 && !atomic_exchange(&warned, true))
        cgx_log(CGX_LOG_WARN,
                "CGX_TOPOLOGY=%llux%llu is %llu ranks and the job has %d: nodes are those that MPI "
                "finds",
                nodes, ranks, nodes * ranks, all);
    return 0;
}

/* ---- as MPI does ---- */

/* The lowest rank of COMM that shares memory with this one, which is rank RANK. */
static bool find_lowest(const struct cgx_mpi *mpi, cgx_mpi_comm comm, int rank, int *lowest)
{
    const int first = 0;
    cgx_mpi_group sharers, members;
    cgx_mpi_comm node;
    bool found = false;

    if (mpi->Comm_split_type(comm, mpi->COMM_TYPE_SHARED, rank, mpi->INFO_NULL, &node) !=
        CGX_MPI_SUCCESS)
        return false;
    if (mpi->Comm_group(node, &sharers) != CGX_MPI_SUCCESS)
        goto free_node;
    if (mpi->Comm_group(comm, &members) != CGX_MPI_SUCCESS)
        goto free_sharers;
    found = mpi->Group_translate_ranks(sharers, 1, &first, members, lowest) == CGX_MPI_SUCCESS;
    mpi->Group_free(&members);
free_sharers:
    mpi->Group_free(&sharers);
free_node:
    mpi->Comm_free(&node);
    return found;
}

/* ---- together ---- */

/* Whether all ranks of COMM say so. */
static int all_say(const struct cgx_mpi *mpi, cgx_mpi_comm comm, bool mine, bool *all)
{
    int least = mine;
    int code = mpi->Allreduce(mpi->IN_PLACE, &least, 1, mpi->INT, mpi->MIN, comm);

    *all = code == CGX_MPI_SUCCESS && least != 0;
    return code;
}

/* Sets KEYS, NULL where this rank has no memory for them; *KNOWN: on all ranks. */
static int find_keys(const struct cgx_mpi *mpi, cgx_mpi_comm comm, int size, int *keys, bool *known)
{
    int per_node = ranks_per_node(mpi, comm, size);
    int code, rank, lowest = 0;
    bool ready = keys != NULL;

    code = mpi->Comm_rank(comm, &rank);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (per_node > 0)
        ready = ready && world_ranks(mpi, comm, size, keys);
    else
        ready = find_lowest(mpi, comm, rank, &lowest) && ready;
    code = all_say(mpi, comm, ready, known);
    if (code != CGX_MPI_SUCCESS || !*known || !keys)
        return code;
    for (int i = 0; per_node > 0 && i < size; i++)
        keys[i] /= per_node;
    return per_node > 0 ? code : mpi->Allgather(&lowest, 1, mpi->INT, keys, 1, mpi->INT, comm);
}

static int discover(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state)
{
    int size = state->size;
    bool flat = cgx_config()->topology == CGX_TOPOLOGY_FLAT, known = flat;
    int *keys = flat ? NULL : calloc((size_t)size, sizeof *keys);
    struct cgx_nodes *found = NULL;
    int code = flat ? CGX_MPI_SUCCESS : find_keys(mpi, comm, size, keys, &known);

    if (code == CGX_MPI_SUCCESS && known) {
        found = cgx_nodes_create(keys, (unsigned)size);
        known = state->flat && found;
        code = cgx_pace_agree(mpi, comm, found, state, &known);
    }
    free(keys);
    if (code == CGX_MPI_SUCCESS && known)
        state->nodes = found;
    else
        cgx_nodes_free(found);
    return code;
}

/* With an error handler that returns. */
static int discover_quietly(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state)
{
    cgx_mpi_errhandler handler;
    int code = cgx_errors_return(mpi, comm, &handler);

    if (code != CGX_MPI_SUCCESS)
        return code;
    code = discover(mpi, comm, state);
    cgx_errors_restore(mpi, comm, handler);
    return code;
}

static void describe(const struct cgx_nodes *nodes, const struct cgx_settings *settings)
{
    if (nodes->nodes == 1 || nodes->most == 1)
        cgx_log(CGX_LOG_INFO, "sums of %u ranks on %u node%s: one stage", nodes->ranks,
                nodes->nodes, nodes->nodes == 1 ? "" : "s");
    else
        cgx_log(CGX_LOG_INFO,
                "sums of %u ranks on %u nodes of %u to %u: a stage inside nodes%s, and one between "
                "them for each of %u shards",
                nodes->ranks, nodes->nodes, nodes->least, nodes->most,
                settings->intra_compress == CGX_INTRA_OFF ? " of elements as they are" : "",
                settings->intra_broadcast ? 1 : nodes->least);
}

int cgx_nodes_discover(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state,
                       bool *found)
{
    int code = CGX_MPI_SUCCESS;

    *found = state->nodes != NULL;
    if (*found)
        return code;
    if (!state->flat)
        state->flat = cgx_nodes_create(NULL, (unsigned)state->size);
    code = discover_quietly(mpi, comm, state);
    *found = state->nodes != NULL;
    if (*found && state->rank == 0)
        describe(state->nodes, cgx_config());
    return code;
}

struct cgx_scheme cgx_nodes_scheme(const struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_config();

    return (struct cgx_scheme){.nodes = state->nodes,
                               .flat = state->flat,
                               .leaders = settings->intra_broadcast,
                               .raw = settings->intra_compress == CGX_INTRA_OFF,
                               .watched = settings->consensus > 0,
                               .inner = settings->inner_reduction,
                               .cross = settings->cross_reduction};
}
