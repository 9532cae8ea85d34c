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
    struct cgx_cuda_offer mirror;
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

/* Whether payloads may stay on devices. Budgets in units of noise need powers, which hosts find in
 * more of the payloads than is brought to them then (coll/powers.h). */
static bool may_open(const struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_start();
    bool finds_powers = settings->adaptive && settings->adaptive_budget_kind == CGX_BUDGET_NOISE;

    return !state->mirrors_refused &&
           (settings->inner_transport == CGX_TRANSPORT_P2P ||
            (settings->inner_transport == CGX_TRANSPORT_AUTO && !finds_powers));
}

/* Whether devices may copy from what ranks share. In a ring a rank passes on what it got, and so
 * must have it there itself. */
static bool may_register(const struct cgx_comm *state)
{
    return !state->segments_refused && cgx_start()->inner_reduction != CGX_REDUCTION_RING;
}

/* The best way that no rank has refused yet. */
static enum cgx_pull best_pull(const struct cgx_comm *state)
{
    return may_open(state) ? CGX_PULL_DEVICE : may_register(state) ? CGX_PULL_HOST : CGX_PULL_NONE;
}

bool cgx_connect_may_offer(const struct cgx_comm *state)
{
    return cgx_connect_mates(state) > 1 && best_pull(state) == CGX_PULL_DEVICE;
}

/* Whether calls with DEVICE can PULL, and what it offers for that. */
static int offer_device(struct cgx_backend *device, enum cgx_pull pull,
                        struct cgx_cuda_offer *offer)
{
    enum cgx_status status;

    if (!device || !cgx_cuda_is_device(device) || pull == CGX_PULL_NONE)
        return DEVICE_ABSENT;
    status = pull == CGX_PULL_DEVICE ? cgx_cuda_offer(device, offer) : CGX_OK;
    return status == CGX_OK            ? DEVICE_READY
           : status == CGX_ERR_INVALID ? DEVICE_ABSENT
                                       : DEVICE_REFUSED;
}

static uint64_t memory_cookie(const struct cgx_comm *state)
{
    return state->scratch.shared.memory ? state->scratch.shared.cookie : 0;
}

/* Of the memory on a device that mates may use in calls with DEVICE or with others. */
static uint64_t mirror_cookie(const struct cgx_comm *state, const struct means *mine)
{
    return mine->mirror.cookie ? mine->mirror.cookie : cgx_cuda_offered(state->scratch.devices);
}

static struct found look(struct cgx_comm *state, struct cgx_backend *device, enum cgx_pull pull,
                         struct means *mine)
{
    struct found found = {.memory = state->shm && memory_cookie(state) != 0,
                          .memory_is_old = memory_cookie(state) == state->shm_cookie};

    *mine = (struct means){.memory = cgx_shared_offer(&state->scratch.shared)};
    found.device = offer_device(device, pull, &mine->mirror);
    found.device_is_old = mirror_cookie(state, mine) == state->mirror_cookie &&
                          (found.device != DEVICE_READY || cgx_cuda_connection(device) == pull);
    return found;
}

/* ---- connecting ---- */

static enum cgx_status connect_device(const struct cgx_comm *state, struct cgx_backend *device,
                                      enum cgx_pull pull, const struct means *offers)
{
    const struct cgx_nodes *nodes = state->nodes;
    unsigned node = nodes->node[state->rank];
    unsigned first = nodes->first[node], nmates = nodes->first[node + 1] - first;
    struct cgx_cuda_mate *mates = calloc(nmates, sizeof *mates);
    enum cgx_status status;

    if (!mates)
        return CGX_ERR_NOMEM;
    for (unsigned i = 0; i < nmates; i++) {
        const struct cgx_shm_segment segment = cgx_shm_segment(state->shm, i);

        mates[i].mirror = offers[nodes->members[first + i]].mirror;
        mates[i].segment = (struct cgx_cuda_segment){.memory = segment.memory,
                                                     .bytes = segment.bytes,
                                                     .front = segment.front,
                                                     .cookie = segment.cookie};
    }
    status = cgx_cuda_connect(device, pull, mates, nmates, nodes->local[state->rank]);
    free(mates);
    return status;
}

/* Connects with what the ranks OFFER of what was FOUND on all, and says there what came of it. */
static void attach(struct cgx_comm *state, struct cgx_backend *device, enum cgx_pull pull,
                   const struct means *offers, struct found *found)
{
    struct cgx_shared_offer *memories = calloc((size_t)state->size, sizeof *memories);

    for (int i = 0; memories && i < state->size; i++)
        memories[i] = offers[i].memory;
    found->memory =
        memories && cgx_shm_attach(state->shm, &state->scratch.shared, memories) == CGX_OK;
    free(memories);
    cgx_cuda_disconnect(state->scratch.devices);
    if (found->device == DEVICE_READY && found->memory &&
        connect_device(state, device, pull, offers) != CGX_OK)
        found->device = DEVICE_REFUSED;
}

/* From now on all messages go by MPI. */
static void give_up_memory(struct cgx_comm *state)
{
    enum cgx_transport asked = cgx_start()->inner_transport;

    cgx_cuda_disconnect(state->scratch.devices);
    cgx_shm_free(state->shm);
    state->shm = NULL;
    state->shm_refused = true;
    state->scratch.mates = 0;
    if (state->rank == 0)
        cgx_log(asked != CGX_TRANSPORT_AUTO ? CGX_LOG_WARN : CGX_LOG_INFO,
                "ranks of a node cannot share memory here: their messages go through MPI");
}

/* From now on no call pulls by PULL. */
static void give_up_pull(struct cgx_comm *state, enum cgx_pull pull)
{
    enum cgx_transport asked = cgx_start()->inner_transport;

    cgx_cuda_disconnect(state->scratch.devices);
    if (pull == CGX_PULL_DEVICE)
        state->mirrors_refused = true;
    else
        state->segments_refused = true;
    if (state->rank != 0)
        return;
    if (pull == CGX_PULL_DEVICE)
        cgx_log(asked == CGX_TRANSPORT_P2P ? CGX_LOG_WARN : CGX_LOG_INFO,
                "ranks of a node cannot reach the memory of each other's devices here: their "
                "messages go through shared memory");
    else
        cgx_log(CGX_LOG_INFO, "devices cannot read the shared memory of other ranks here: "
                              "processors copy their messages");
}

/* Takes note of what was FOUND on all ranks in the end. */
static void conclude(struct cgx_comm *state, enum cgx_pull pull, const struct means *mine,
                     const struct found *found)
{
    uint64_t offered = mirror_cookie(state, mine);

    cgx_shared_close(&state->scratch.shared);
    state->shm_cookie = memory_cookie(state);
    if (!found->memory)
        give_up_memory(state);
    else if (found->device == DEVICE_REFUSED)
        give_up_pull(state, pull);
    /* By now all ranks have closed what was offered before, or are about to. */
    if (state->mirror_cookie != offered)
        cgx_cuda_withdraw(state->scratch.devices, state->mirror_cookie);
    state->mirror_cookie = offered;
}

/* Where not all is as it was. */
static int connect_anew(const struct cgx_mpi *mpi, struct cgx_comm *state,
                        struct cgx_backend *device, enum cgx_pull pull, const struct means *mine,
                        struct means *offers, struct found *found)
{
    int code = MPI_SUCCESS;

    if (found->memory)
        code = mpi->Allgather(mine, sizeof *mine, MPI_BYTE, offers, sizeof *mine, MPI_BYTE,
                              state->own);
    if (code == MPI_SUCCESS && found->memory) {
        attach(state, device, pull, offers, found);
        code = agree(mpi, state->own, found);
    }
    if (code == MPI_SUCCESS)
        conclude(state, pull, mine, found);
    return code;
}

/* *FOUND: what came of it. */
static int connect_by(const struct cgx_mpi *mpi, struct cgx_comm *state, struct cgx_backend *device,
                      enum cgx_pull pull, struct found *found)
{
    struct means mine, *offers = calloc((size_t)state->size, sizeof *offers);
    int code;

    *found = look(state, device, pull, &mine);
    found->memory = found->memory && offers;
    code = agree(mpi, state->own, found);
    if (code == MPI_SUCCESS && (!found->memory || found->device == DEVICE_REFUSED ||
                                !found->memory_is_old || !found->device_is_old))
        code = connect_anew(mpi, state, device, pull, &mine, offers, found);
    free(offers);
    return code;
}

int cgx_connect(const struct cgx_mpi *mpi, struct cgx_comm *state, struct cgx_backend *device,
                enum cgx_pull *pull)
{
    enum cgx_pull tried;
    struct found found;
    int code;

    *pull = CGX_PULL_NONE;
    if (cgx_connect_mates(state) < 2)
        return MPI_SUCCESS;
    if (!state->shm)
        state->shm = cgx_shm_create(state->nodes, (unsigned)state->rank);
    do {
        tried = best_pull(state);
        code = connect_by(mpi, state, device, tried, &found);
    } while (code == MPI_SUCCESS && found.memory && found.device == DEVICE_REFUSED);
    if (code == MPI_SUCCESS && found.memory && found.device == DEVICE_READY)
        *pull = tried;
    return code;
}
