/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/connect.h"

#include <stdlib.h>

#include "comm/ballot.h"
#include "comm/placement.h"
#include "comm/private_comm.h"
#include "mpi/config.h"
#include "mpi/errors.h"
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

/* What all ranks have: words of a ballot. */
enum { MEMORY, DEVICE, MEMORY_IS_OLD, DEVICE_IS_OLD };

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
static uint64_t mirror_cookie(const struct cgx_comm *state, const struct cgx_means *mine)
{
    return mine->mirror.cookie ? mine->mirror.cookie
                               : cgx_cuda_exported_cookie(state->work->scratch.devices);
}

void cgx_connect_begin(struct cgx_comm *state, struct cgx_backend *device,
                       struct cgx_connecting *connecting, uint32_t *words)
{
    struct cgx_workspace *work = state->work;
    struct cgx_means *mine = &connecting->mine;

    *connecting =
        (struct cgx_connecting){.device = device, .needed = cgx_connect_local_peers(state) > 1};
    if (!connecting->needed)
        return;
    if (!work->shm) {
        work->shm = cgx_shm_create(state->places.nodes, (unsigned)state->rank);
        if (work->shm)
            work->nodes = cgx_nodes_share(state->places.nodes);
    }
    connecting->theirs = calloc(state->places.nodes->most, sizeof *connecting->theirs);
    mine->memory = cgx_shared_handle(&work->scratch.shared);
    words[MEMORY] = work->shm && memory_cookie(state) != 0 && connecting->theirs;
    words[MEMORY_IS_OLD] = memory_cookie(state) == work->shm_cookie;
    words[DEVICE] = export_device(state, device, &mine->mirror);
    words[DEVICE_IS_OLD] =
        mirror_cookie(state, mine) == work->mirror_cookie &&
        (words[DEVICE] != DEVICE_READY || cgx_cuda_connection(device) == CGX_PULL_DEVICE);
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
                                      enum cgx_pull pull, const struct cgx_means *theirs)
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

/* Connects with what local peers offer, as far as WORDS say that all ranks have it, and updates
 * WORDS if that fails. */
static void attach(struct cgx_comm *state, const struct cgx_connecting *connecting, uint32_t *words)
{
    const struct peers peers = peers_of(state);
    struct cgx_workspace *work = state->work;
    /* By rank; only those of local peers are used. */
    struct cgx_shared_handle *memories = calloc((size_t)state->size, sizeof *memories);

    for (unsigned i = 0; memories && i < peers.count; i++)
        memories[peers.ranks[i]] = connecting->theirs[i].memory;
    words[MEMORY] =
        memories && cgx_shm_attach(work->shm, &work->scratch.shared, memories) == CGX_OK;
    free(memories);
    cgx_cuda_disconnect(work->scratch.devices);
    if (words[DEVICE] == DEVICE_READY && words[MEMORY] &&
        connect_device(state, connecting->device, CGX_PULL_DEVICE, connecting->theirs) != CGX_OK)
        words[DEVICE] = DEVICE_REFUSED;
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

/* Applies the final result of all ranks. */
static void conclude(struct cgx_comm *state, const struct cgx_means *mine, const uint32_t *words)
{
    uint64_t exported = mirror_cookie(state, mine);

    cgx_shared_close(&state->work->scratch.shared);
    state->work->shm_cookie = memory_cookie(state);
    if (!words[MEMORY])
        give_up_memory(state);
    else if (words[DEVICE] == DEVICE_REFUSED)
        give_up_mirrors(state);
    /* By now all ranks have closed the memory that was exported before, or are about to. */
    if (state->work->mirror_cookie != exported)
        cgx_cuda_withdraw(state->work->scratch.devices, state->work->mirror_cookie);
    state->work->mirror_cookie = exported;
}

/* Sets THEIRS, by local peer, this rank included. In turn i a rank sends to the i-th peer after it
 * and receives from the i-th peer before it, one message at a time, so no ranks wait for each other
 * in a circle. All messages of earlier calls have been received. */
static int exchange(const struct cgx_comm *state, const struct cgx_means *mine,
                    struct cgx_means *theirs)
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
static int connect_anew(struct cgx_comm *state, struct cgx_connecting *connecting, uint32_t *words)
{
    int code;

    if (words[MEMORY]) {
        code = exchange(state, &connecting->mine, connecting->theirs);
        if (code != CGX_MPI_SUCCESS) {
            code = cgx_errors_raise_code(state->comm, code,
                                         "MPI could not connect the ranks of a node");
            cgx_private_break(state, code);
            return code;
        }
        attach(state, connecting, words);
        code = cgx_ballot(state, CGX_BALLOT_REACHED, NULL, words, CGX_CONNECT_WORDS);
        if (code != CGX_MPI_SUCCESS)
            return code;
    }
    conclude(state, &connecting->mine, words);
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

int cgx_connect(struct cgx_comm *state, struct cgx_connecting *connecting, uint32_t *words,
                bool *by_device)
{
    int code = CGX_MPI_SUCCESS;

    *by_device = false;
    if (!connecting->needed)
        return code;
    if (!words[MEMORY] || words[DEVICE] == DEVICE_REFUSED || !words[MEMORY_IS_OLD] ||
        !words[DEVICE_IS_OLD])
        code = connect_anew(state, connecting, words);
    *by_device = code == CGX_MPI_SUCCESS && words[MEMORY] && words[DEVICE] == DEVICE_READY;
    if (code == CGX_MPI_SUCCESS && !*by_device)
        connect_segments(state, connecting->device);
    return code;
}

void cgx_connect_end(struct cgx_connecting *connecting)
{
    free(connecting->theirs);
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
