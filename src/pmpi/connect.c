/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/connect.h"

#include <stdlib.h>

#include "cuda/peers.h"
#include "pmpi/start.h"
#include "util/log.h"

unsigned cgx_connect_mates(const struct cgx_comm *state)
{
    enum cgx_transport transport = cgx_start()->inner_transport;

    return state->nodes && !state->shm_refused && transport != CGX_TRANSPORT_MPI
               ? state->nodes->most
               : 0;
}

/* ---- what a rank has, and what all have ---- */

/* What a rank has for its mates. */
struct means {
    struct cgx_shared_offer memory;
    struct cgx_cuda_offer device;
};

/* The least of what all ranks say. */
struct found {
    int memory;        /* staging memory that can be shared */
    int device;        /* see below */
    int memory_is_old; /* mates have it already */
    int device_is_old;
};

enum { DEVICE_REFUSED, DEVICE_ABSENT, DEVICE_READY };

static int agree(const struct cgx_mpi *mpi, MPI_Comm comm, struct found *found)
{
    return mpi->Allreduce(MPI_IN_PLACE, found, sizeof *found / sizeof(int), MPI_INT, MPI_MIN, comm);
}

static bool wants_devices(const struct cgx_comm *state)
{
    return cgx_start()->inner_transport == CGX_TRANSPORT_P2P && !state->peers_refused;
}

/* Offers the memory of DEVICE, if there is one, to mates. */
static int offer_device(struct cgx_backend *device, struct cgx_cuda_offer *offer)
{
    enum cgx_status status = device ? cgx_cuda_offer(device, offer) : CGX_ERR_INVALID;

    return status == CGX_OK            ? DEVICE_READY
           : status == CGX_ERR_INVALID ? DEVICE_ABSENT
                                       : DEVICE_REFUSED;
}

static uint64_t memory_cookie(const struct cgx_comm *state)
{
    return state->scratch.shared.memory ? state->scratch.shared.cookie : 0;
}

/* Of the memory on a device that mates may use in calls with DEVICE or with others. */
static uint64_t device_cookie(const struct cgx_comm *state, const struct means *mine)
{
    return mine->device.cookie ? mine->device.cookie : cgx_cuda_offered(state->scratch.devices);
}

static struct found look(struct cgx_comm *state, struct cgx_backend *device, struct means *mine)
{
    struct found found = {.memory = state->shm && memory_cookie(state) != 0,
                          .device = DEVICE_ABSENT,
                          .memory_is_old = memory_cookie(state) == state->shm_cookie,
                          .device_is_old = true};

    *mine = (struct means){.memory = cgx_shared_offer(&state->scratch.shared)};
    if (wants_devices(state)) {
        found.device = offer_device(device, &mine->device);
        found.device_is_old = device_cookie(state, mine) == state->peer_cookie &&
                              (found.device != DEVICE_READY || cgx_cuda_is_connected(device));
    }
    return found;
}

/* ---- connecting ---- */

/* Connects with what the ranks OFFER of what was FOUND on all, and says there what came of it. */
static void attach(struct cgx_comm *state, struct cgx_backend *device, const struct means *offers,
                   struct found *found)
{
    const struct cgx_nodes *nodes = state->nodes;
    unsigned node = nodes->node[state->rank];
    unsigned nmates = nodes->first[node + 1] - nodes->first[node];
    struct cgx_shared_offer *memories = calloc((size_t)state->size, sizeof *memories);
    struct cgx_cuda_offer *devices = calloc(nmates, sizeof *devices);

    for (int i = 0; memories && i < state->size; i++)
        memories[i] = offers[i].memory;
    for (unsigned i = 0; devices && i < nmates; i++)
        devices[i] = offers[nodes->members[nodes->first[node] + i]].device;
    found->memory =
        memories && cgx_shm_attach(state->shm, &state->scratch.shared, memories) == CGX_OK;
    cgx_cuda_disconnect(state->scratch.devices);
    if (found->device == DEVICE_READY &&
        (!devices ||
         cgx_cuda_connect(device, devices, nmates, nodes->local[state->rank]) != CGX_OK))
        found->device = DEVICE_REFUSED;
    free(memories);
    free(devices);
}

/* From now on all messages go by MPI. */
static void give_up_memory(struct cgx_comm *state)
{
    enum cgx_transport asked = cgx_start()->inner_transport;

    cgx_shm_free(state->shm);
    state->shm = NULL;
    state->shm_refused = true;
    state->scratch.mates = 0;
    if (state->rank == 0)
        cgx_log(asked != CGX_TRANSPORT_AUTO ? CGX_LOG_WARN : CGX_LOG_INFO,
                "ranks of a node cannot share memory here: their messages go through MPI");
}

static void give_up_devices(struct cgx_comm *state)
{
    cgx_cuda_disconnect(state->scratch.devices);
    state->peers_refused = true;
    if (state->rank == 0 && state->shm)
        cgx_log(CGX_LOG_WARN, "ranks of a node cannot reach the memory of each other's devices "
                              "here: their messages go through shared memory");
}

/* Takes note of what was FOUND on all ranks in the end. */
static void conclude(struct cgx_comm *state, const struct means *mine, const struct found *found)
{
    uint64_t offered = device_cookie(state, mine);

    cgx_shared_close(&state->scratch.shared);
    state->shm_cookie = memory_cookie(state);
    if (!found->memory)
        give_up_memory(state);
    if (wants_devices(state) && (!found->memory || found->device == DEVICE_REFUSED))
        give_up_devices(state);
    /* By now all ranks have closed what was offered before, or are about to. */
    if (state->peer_cookie != offered)
        cgx_cuda_withdraw(state->scratch.devices, state->peer_cookie);
    state->peer_cookie = offered;
}

/* Where not all is as it was. */
static int connect_anew(const struct cgx_mpi *mpi, struct cgx_comm *state,
                        struct cgx_backend *device, const struct means *mine, struct means *offers,
                        struct found *found)
{
    int code = MPI_SUCCESS;

    if (found->memory)
        code = mpi->Allgather(mine, sizeof *mine, MPI_BYTE, offers, sizeof *mine, MPI_BYTE,
                              state->own);
    if (code == MPI_SUCCESS && found->memory) {
        attach(state, device, offers, found);
        code = agree(mpi, state->own, found);
    }
    if (code == MPI_SUCCESS)
        conclude(state, mine, found);
    return code;
}

int cgx_connect(const struct cgx_mpi *mpi, struct cgx_comm *state, struct cgx_backend *device,
                bool *by_device)
{
    struct means mine, *offers;
    struct found found;
    int code;

    *by_device = false;
    if (cgx_connect_mates(state) < 2)
        return MPI_SUCCESS;
    if (!state->shm)
        state->shm = cgx_shm_create(state->nodes, (unsigned)state->rank);
    offers = calloc((size_t)state->size, sizeof *offers);
    found = look(state, device, &mine);
    found.memory = found.memory && offers;
    code = agree(mpi, state->own, &found);
    if (code == MPI_SUCCESS && (!found.memory || found.device == DEVICE_REFUSED ||
                                !found.memory_is_old || !found.device_is_old))
        code = connect_anew(mpi, state, device, &mine, offers, &found);
    free(offers);
    *by_device = code == MPI_SUCCESS && found.device == DEVICE_READY && wants_devices(state);
    return code;
}
