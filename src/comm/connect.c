/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/connect.h"

#include <stdlib.h>

#include "comm/placement.h"
#include "cuda/peers.h"
#include "mpi/config.h"
#include "mpi/stall.h"
#include "util/log.h"

unsigned cgx_connect_local_peers(const struct cgx_comm *state)
{
    enum cgx_transport transport = cgx_config()->inner_transport;

    return state->places.nodes && !state->work->shm_refused && transport != CGX_TRANSPORT_MPI
               ? state->places.nodes->most
               : 0;
}

/* ---- what this rank offers, and what all ranks have ---- */

/* What a rank offers its local peers. */
struct means {
    struct cgx_shared_handle memory;
    struct cgx_cuda_handle mirror;
};

/* What all ranks have: the minimum over ranks; integers only. */
struct found {
    int memory;        /* staging memory that can be shared */
    int device;        /* DEVICE_REFUSED and so on */
    int memory_is_old; /* local peers use it already */
    int device_is_old;
};

enum { DEVICE_REFUSED, DEVICE_ABSENT, DEVICE_READY };

/* Whether payloads may stay on devices, as far as settings and earlier attempts allow. */
static bool may_open(const struct cgx_comm *state)
{
    enum cgx_transport transport = cgx_config()->inner_transport;

    return !state->work->mirrors_refused &&
           (transport == CGX_TRANSPORT_P2P || transport == CGX_TRANSPORT_AUTO);
}

bool cgx_connect_may_export(const struct cgx_comm *state)
{
    return cgx_connect_local_peers(state) > 1 && may_open(state);
}

/* Exports the memory of DEVICE, if there is one, to local peers. */
static int export_device(const struct cgx_comm *state, struct cgx_backend *device,
                         struct cgx_cuda_handle *handle)
{
    enum cgx_status status = CGX_ERR_INVALID;

    if (device && may_open(state))
        status = cgx_cuda_export(device, handle);
    return status == CGX_OK            ? DEVICE_READY
           : status == CGX_ERR_INVALID ? DEVICE_ABSENT
                                       : DEVICE_REFUSED;
}

static uint64_t memory_cookie(const struct cgx_comm *state)
{
    return state->work->scratch.shared.memory ? state->work->scratch.shared.cookie : 0;
}

/* The cookie of the device memory that local peers may use, in calls with DEVICE or with others. */
static uint64_t mirror_cookie(const struct cgx_comm *state, const struct means *mine)
{
    return mine->mirror.cookie ? mine->mirror.cookie
                               : cgx_cuda_exported_cookie(state->work->scratch.devices);
}

static struct found query_peers(struct cgx_comm *state, struct cgx_backend *device,
                                struct means *mine)
{
    struct found found = {.memory = state->work->shm && memory_cookie(state) != 0,
                          .memory_is_old = memory_cookie(state) == state->work->shm_cookie};

    *mine = (struct means){.memory = cgx_shared_handle(&state->work->scratch.shared)};
    found.device = export_device(state, device, &mine->mirror);
    found.device_is_old =
        mirror_cookie(state, mine) == state->work->mirror_cookie &&
        (found.device != DEVICE_READY || cgx_cuda_connection(device) == CGX_PULL_DEVICE);
    return found;
}

/* ---- connecting ---- */

/* The ranks of this rank's node; SELF is this rank's index among them. */
struct peers {
    const unsigned *ranks;
    unsigned count, self;
};

static struct peers peers_of(const struct cgx_comm *state)
{
    const struct cgx_nodes *nodes = state->places.nodes;
    const unsigned *first = &nodes->first[nodes->node[state->rank]];

    return (struct peers){nodes->members + first[0], first[1] - first[0],
                          nodes->local[state->rank]};
}

/* THEIRS: what local peers offer, or NULL if PULL needs none of it. */
static enum cgx_status connect_device(const struct cgx_comm *state, struct cgx_backend *device,
                                      enum cgx_pull pull, const struct means *theirs)
{
    const struct peers peers = peers_of(state);
    struct cgx_cuda_peer *local_peers = calloc(peers.count, sizeof *local_peers);
    enum cgx_status status;

    if (!local_peers)
        return CGX_ERR_NOMEM;
    for (unsigned i = 0; i < peers.count; i++) {
        const struct cgx_shm_segment segment = cgx_shm_segment(state->work->shm, i);

        if (theirs)
            local_peers[i].mirror = theirs[i].mirror;
        local_peers[i].segment = (struct cgx_cuda_segment){.memory = segment.memory,
                                                           .bytes = segment.bytes,
                                                           .front = segment.front,
                                                           .cookie = segment.cookie};
    }
    status = cgx_cuda_connect(device, pull, local_peers, peers.count, peers.self);
    free(local_peers);
    return status;
}

/* Connects with what local peers offer in THEIRS, as far as FOUND says that all ranks have it, and
 * updates FOUND if that fails. */
static void attach(struct cgx_comm *state, struct cgx_backend *device, const struct means *theirs,
                   struct found *found)
{
    const struct peers peers = peers_of(state);
    /* By rank; only those of local peers are used. */
    struct cgx_shared_handle *memories = calloc((size_t)state->size, sizeof *memories);

    for (unsigned i = 0; memories && i < peers.count; i++)
        memories[peers.ranks[i]] = theirs[i].memory;
    found->memory = memories && cgx_shm_attach(state->work->shm, &state->work->scratch.shared,
                                               memories) == CGX_OK;
    free(memories);
    cgx_cuda_disconnect(state->work->scratch.devices);
    if (found->device == DEVICE_READY && found->memory &&
        connect_device(state, device, CGX_PULL_DEVICE, theirs) != CGX_OK)
        found->device = DEVICE_REFUSED;
}

/* All messages go through MPI from now on. */
static void give_up_memory(struct cgx_comm *state)
{
    enum cgx_transport asked = cgx_config()->inner_transport;

    cgx_cuda_disconnect(state->work->scratch.devices);
    cgx_shm_free(state->work->shm);
    cgx_nodes_free(state->work->nodes);
    state->work->shm = NULL;
    state->work->nodes = NULL;
    state->work->shm_refused = true;
    state->work->scratch.local_peers = 0;
    if (state->work->reserved.slots == 0)
        cgx_placement_unlink(state);
    if (state->rank == 0)
        cgx_log(asked != CGX_TRANSPORT_AUTO ? CGX_LOG_WARN : CGX_LOG_INFO,
                "ranks of a node cannot share memory here: their messages go through MPI");
}

static void give_up_mirrors(struct cgx_comm *state)
{
    enum cgx_transport asked = cgx_config()->inner_transport;

    cgx_cuda_disconnect(state->work->scratch.devices);
    state->work->mirrors_refused = true;
    if (state->work->reserved.slots == 0)
        cgx_placement_unlink(state);
    if (state->rank == 0)
        cgx_log(asked == CGX_TRANSPORT_P2P ? CGX_LOG_WARN : CGX_LOG_INFO,
                "ranks of a node cannot reach the memory of each other's devices here: their "
                "messages go through shared memory");
}

/* Applies the final result of all ranks, FOUND. */
static void conclude(struct cgx_comm *state, const struct means *mine, const struct found *found)
{
    uint64_t exported = mirror_cookie(state, mine);

    cgx_shared_close(&state->work->scratch.shared);
    state->work->shm_cookie = memory_cookie(state);
    if (!found->memory)
        give_up_memory(state);
    else if (found->device == DEVICE_REFUSED)
        give_up_mirrors(state);
    /* By now all ranks have closed the memory that was exported before, or are about to. */
    if (state->work->mirror_cookie != exported)
        cgx_cuda_withdraw(state->work->scratch.devices, state->work->mirror_cookie);
    state->work->mirror_cookie = exported;
}

/* Sets THEIRS, by local peer, this rank included. In turn i a rank sends to the i-th peer after it
 * and receives from the i-th peer before it, one message at a time, so no ranks wait for each other
 * in a circle. All messages of earlier calls have been received. */
static int exchange(const struct cgx_comm *state, const struct means *mine, struct means *theirs)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    const struct peers peers = peers_of(state);

    theirs[peers.self] = *mine;
    for (unsigned i = 1; i < peers.count; i++) {
        unsigned to = (peers.self + i) % peers.count;
        unsigned from = (peers.self + peers.count - i) % peers.count;
        int code;

        cgx_stall_enter();
        code =
            mpi->Sendrecv(mine, sizeof *mine, mpi->BYTE, (int)peers.ranks[to], 0, &theirs[from],
                          sizeof *mine, mpi->BYTE, (int)peers.ranks[from], 0, state->private.comm);
        cgx_stall_leave();
        if (code != CGX_MPI_SUCCESS)
            return code;
    }
    return CGX_MPI_SUCCESS;
}

/* Connects again, since something has changed. */
static int connect_anew(struct cgx_comm *state, struct cgx_backend *device,
                        const struct means *mine, struct means *theirs, struct found *found)
{
    int code;

    if (found->memory) {
        code = exchange(state, mine, theirs);
        if (code != CGX_MPI_SUCCESS)
            return code;
        attach(state, device, theirs, found);
        code = cgx_mpi_least(state->private.comm, found, sizeof *found / sizeof(int));
        if (code != CGX_MPI_SUCCESS)
            return code;
    }
    conclude(state, mine, found);
    return CGX_MPI_SUCCESS;
}

/* Lets DEVICE copy from the memory that local peers share, for calls whose payloads do not go from
 * device to device. No other rank needs to know. */
static void connect_segments(struct cgx_comm *state, struct cgx_backend *device)
{
    if (!device || !cgx_cuda_is_device(device) || !state->work->shm ||
        state->work->segments_refused || cgx_cuda_connection(device) != CGX_PULL_NONE ||
        connect_device(state, device, CGX_PULL_HOST, NULL) == CGX_OK)
        return;
    state->work->segments_refused = true;
    cgx_log(CGX_LOG_INFO, "the device cannot read the shared memory of other ranks here: the "
                          "processor copies their messages");
}

int cgx_connect(struct cgx_comm *state, struct cgx_backend *device, bool *by_device)
{
    struct means mine, *theirs;
    struct found found;
    int code;

    *by_device = false;
    if (cgx_connect_local_peers(state) < 2)
        return CGX_MPI_SUCCESS;
    if (!state->work->shm) {
        state->work->shm = cgx_shm_create(state->places.nodes, (unsigned)state->rank);
        if (state->work->shm)
            state->work->nodes = cgx_nodes_share(state->places.nodes);
    }
    theirs = calloc(state->places.nodes->most, sizeof *theirs);
    found = query_peers(state, device, &mine);
    found.memory = found.memory && theirs;
    code = cgx_mpi_least(state->private.comm, &found, sizeof found / sizeof(int));
    if (code == CGX_MPI_SUCCESS && (!found.memory || found.device == DEVICE_REFUSED ||
                                    !found.memory_is_old || !found.device_is_old))
        code = connect_anew(state, device, &mine, theirs, &found);
    free(theirs);
    *by_device = code == CGX_MPI_SUCCESS && found.memory && found.device == DEVICE_READY;
    if (code == CGX_MPI_SUCCESS && !*by_device)
        connect_segments(state, device);
    return code;
}

/* Whether the processor copies the messages of local peers, and then all of them to the device,
 * sooner than the device copies each. One of its copies takes some 3 us to begin, by estimate, in
 * which a processor copies some 16 KiB. Among three ranks that saves one copy at most. */
static bool are_small(const struct cgx_schedule *schedule)
{
    enum { RANKS = 4, SMALL = 16384 };
    const struct cgx_shape *shape = &schedule->program.shape;
    const size_t messages = (size_t)shape->shards * schedule->slices;

    return shape->nodes->most >= RANKS && schedule->plan.sent / messages < SMALL;
}

enum cgx_pull cgx_connect_pull(const struct cgx_kind *kind, const struct cgx_schedule *schedule,
                               const struct cgx_backend *device)
{
    if (kind->by_device)
        return CGX_PULL_DEVICE;
    return device && cgx_cuda_connection(device) == CGX_PULL_HOST && !are_small(schedule)
               ? CGX_PULL_HOST
               : CGX_PULL_NONE;
}
