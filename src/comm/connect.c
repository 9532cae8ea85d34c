/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/connect.h"

#include <stdlib.h>

#include "comm/ballot.h"
#include "comm/private_comm.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "mpi/stall.h"
#include "util/log.h"

unsigned cgx_connect_local_peers(const struct cgx_comm *state)
{
    enum cgx_transport transport = cgx_config()->inner_transport;

    return state->scheme.nodes && !state->work->shm_refused && transport != CGX_TRANSPORT_MPI
               ? state->scheme.nodes->most
               : 0;
}

/* Whether ranks of a node may share memory. */
static bool has_local_peers(const struct cgx_comm *state)
{
    return cgx_connect_local_peers(state) > 1;
}

/* Whether payloads may stay on devices, as far as settings and earlier attempts allow. */
static bool may_open(const struct cgx_comm *state)
{
    enum cgx_transport transport = cgx_config()->inner_transport;

    return !state->work->mirrors_refused &&
           (transport == CGX_TRANSPORT_P2P || transport == CGX_TRANSPORT_AUTO);
}

/* ---- this rank ---- */

/* Whether BUFFER's context is broken, or its device lost. Then even an exact call is impossible. */
static bool is_dead(const struct cgx_pointer *buffer)
{
    return buffer->memory != CGX_MEMORY_HOST && cgx_pinned_wait(buffer) == CGX_ERR_DEVICE;
}

static void refuse_device(struct cgx_capability *capability)
{
    const struct cgx_request *request = capability->request;

    capability->refusal = is_dead(&request->send) || is_dead(&request->receive)
                              ? CGX_REASON_DEVICE_LOST
                              : CGX_REASON_DEVICE;
}

static enum cgx_status get_backend(struct cgx_comm *state, const struct cgx_pointer *buffer,
                                   struct cgx_backend **backend)
{
    struct cgx_area area;

    if (buffer->memory == CGX_MEMORY_HOST) {
        *backend = cgx_backend_host();
        return CGX_OK;
    }
    area = cgx_scratch_area(&state->work->scratch);
    area.exportable = has_local_peers(state) && may_open(state);
    area.shares_processors = !state->pace.has_processors;
    return cgx_cuda_backend(&state->work->scratch.devices, buffer, &area, backend);
}

/* Gets the backend of the output, and finds whether it is the input's too. The driver names no
 * context for memory of pools: then both backends are compared. */
static enum cgx_status get_backends(struct cgx_comm *state, struct cgx_capability *capability)
{
    const struct cgx_pointer *send = &capability->request->send,
                             *receive = &capability->request->receive;
    struct cgx_backend *encoder = NULL;
    enum cgx_status status = get_backend(state, receive, &capability->backend);

    if (send->memory == CGX_MEMORY_HOST || receive->memory == CGX_MEMORY_HOST) {
        capability->shared = send->memory == receive->memory;
        return status;
    }
    capability->shared =
        capability->request->in_place || (send->context && send->context == receive->context);
    if (status == CGX_OK && !capability->shared) {
        status = get_backend(state, send, &encoder);
        capability->shared = encoder == capability->backend;
    }
    return status;
}

void cgx_capability_get_backend(struct cgx_comm *state, struct cgx_capability *capability)
{
    if (!capability->refusal && get_backends(state, capability) != CGX_OK)
        refuse_device(capability);
}

/* Copies REQUEST's input to OUTPUT, in other memory; between contexts by way of the host. */
static enum cgx_status copy_input(const struct cgx_request *request, void *output)
{
    const struct cgx_pointer *send = &request->send, *receive = &request->receive;
    const size_t bytes = cgx_request_bytes(request);
    void *block;
    enum cgx_status status;

    if (send->memory == CGX_MEMORY_HOST)
        return cgx_pinned_store(receive, output, request->sendbuf, bytes);
    if (receive->memory == CGX_MEMORY_HOST)
        return cgx_pinned_fetch(send, output, request->sendbuf, bytes);
    status = cgx_pinned_take(send, bytes, &block);
    if (status != CGX_OK)
        return status;
    status = cgx_pinned_fetch(send, block, request->sendbuf, bytes);
    if (status == CGX_OK)
        status = cgx_pinned_store(receive, output, block, bytes);
    cgx_pinned_give(send, block);
    return status;
}

const void *cgx_capability_input(struct cgx_capability *capability, void *output)
{
    const struct cgx_request *request = capability->request;

    if (capability->refusal || capability->shared)
        return cgx_request_input(request);
    if (copy_input(request, output) != CGX_OK)
        refuse_device(capability);
    return output;
}

enum cgx_vote cgx_capability_vote(const struct cgx_capability *capability)
{
    if (capability->refusal == CGX_REASON_NONE)
        return CGX_ABLE;
    if (cgx_reason_is_unrecoverable(capability->refusal))
        return CGX_UNRECOVERABLE;
    return cgx_reason_is_of_call(capability->refusal) ? CGX_UNSUITED : CGX_DECLINED;
}

/* ---- what this rank offers, and what all ranks have ---- */

/* What all ranks have: words of a ballot. */
enum { MEMORY, DEVICE, IS_OLD };

enum { DEVICE_REFUSED, DEVICE_ABSENT, DEVICE_READY };

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

    *connecting = (struct cgx_connecting){.device = device};
    if (!has_local_peers(state))
        return;
    if (!work->shm) {
        work->shm = cgx_shm_create(state->scheme.nodes, (unsigned)state->rank);
        if (work->shm)
            work->nodes = cgx_nodes_share(state->scheme.nodes);
    }
    connecting->theirs = calloc((size_t)state->size, sizeof *connecting->theirs);
    mine->memory = cgx_shared_handle(&work->scratch.shared);
    words[MEMORY] = work->shm && memory_cookie(state) != 0 && connecting->theirs;
    words[DEVICE] = export_device(state, device, &mine->mirror);
    words[IS_OLD] = memory_cookie(state) == work->shm_cookie &&
                    mirror_cookie(state, mine) == work->mirror_cookie &&
                    (words[DEVICE] != DEVICE_READY || device->connection == CGX_PULL_DEVICE);
}

/* ---- connecting ---- */

/* THEIRS: what all ranks offer, or NULL if PULL needs none of it. */
static enum cgx_status connect_device(const struct cgx_comm *state, struct cgx_backend *device,
                                      enum cgx_pull pull, const struct cgx_means *theirs)
{
    const struct cgx_nodes *nodes = state->scheme.nodes;
    const unsigned *first = &nodes->first[nodes->node[state->rank]], count = first[1] - first[0];
    struct cgx_cuda_peer *local_peers = calloc(count, sizeof *local_peers);
    enum cgx_status status;

    if (!local_peers)
        return CGX_ERR_NOMEM;
    for (unsigned i = 0; i < count; i++) {
        if (theirs)
            local_peers[i].mirror = theirs[nodes->members[first[0] + i]].mirror;
        local_peers[i].segment = cgx_shm_segment(state->work->shm, i);
    }
    status = cgx_cuda_connect(device, pull, local_peers, count, nodes->local[state->rank]);
    free(local_peers);
    return status;
}

/* Connects with what local peers offer, as far as WORDS say that all ranks have it, and updates
 * WORDS if that fails. */
static void attach(struct cgx_comm *state, const struct cgx_connecting *connecting, uint32_t *words)
{
    struct cgx_workspace *work = state->work;

    words[MEMORY] = cgx_shm_attach(work->shm, &work->scratch.shared, &connecting->theirs->memory,
                                   sizeof *connecting->theirs) == CGX_OK;
    cgx_cuda_disconnect(work->scratch.devices);
    if (words[DEVICE] == DEVICE_READY && words[MEMORY] &&
        connect_device(state, connecting->device, CGX_PULL_DEVICE, connecting->theirs) != CGX_OK)
        words[DEVICE] = DEVICE_REFUSED;
}

/* Ranks do without each other's MEMORY, or else without that of their devices, from now on. */
static void give_up(struct cgx_comm *state, bool memory)
{
    const enum cgx_transport asked = cgx_config()->inner_transport;
    const bool is_asked = memory ? asked != CGX_TRANSPORT_AUTO : asked == CGX_TRANSPORT_P2P;
    struct cgx_workspace *work = state->work;

    cgx_cuda_disconnect(work->scratch.devices);
    if (memory) {
        cgx_shm_free(work->shm);
        cgx_nodes_free(work->nodes);
        work->shm = NULL;
        work->nodes = NULL;
        work->shm_refused = true;
        work->scratch.local_peers = 0;
    } else {
        work->mirrors_refused = true;
    }
    if (work->reserved.slots == 0)
        cgx_placement_unlink(state);
    if (state->rank == 0)
        cgx_log(is_asked ? CGX_LOG_WARN : CGX_LOG_INFO,
                memory ? "ranks of a node cannot share memory here: their messages go through MPI"
                       : "ranks of a node cannot reach the memory of each other's devices here: "
                         "their messages go through shared memory");
}

static void conclude(struct cgx_comm *state, const struct cgx_means *mine, const uint32_t *words)
{
    uint64_t exported = mirror_cookie(state, mine);

    cgx_shared_close(&state->work->scratch.shared);
    state->work->shm_cookie = memory_cookie(state);
    if (!words[MEMORY] || words[DEVICE] == DEVICE_REFUSED)
        give_up(state, !words[MEMORY]);
    /* By now all ranks have closed the memory that was exported before, or are about to. */
    if (state->work->mirror_cookie != exported)
        cgx_cuda_withdraw(state->work->scratch.devices, state->work->mirror_cookie);
    state->work->mirror_cookie = exported;
}

/* Connects again, since something has changed. All messages of earlier calls have been received. */
static int connect_anew(struct cgx_comm *state, struct cgx_connecting *connecting, uint32_t *words)
{
    int code = CGX_MPI_SUCCESS;

    if (words[MEMORY]) {
        code = cgx_mpi_gather(state->comm, &connecting->mine, connecting->theirs,
                              sizeof connecting->mine);
        if (code != CGX_MPI_SUCCESS)
            return cgx_private_fail(state, code, "MPI could not connect the ranks of a node");
        attach(state, connecting, words);
        code = cgx_ballot(state, CGX_BALLOT_REACHED, NULL, words, CGX_CONNECT_WORDS);
    }
    if (code == CGX_MPI_SUCCESS)
        conclude(state, &connecting->mine, words);
    return code;
}

/* Lets DEVICE copy from the memory that local peers share, for calls whose payloads do not go from
 * device to device. No other rank needs to know. */
static void connect_segments(struct cgx_comm *state, struct cgx_backend *device)
{
    if (!device || device == cgx_backend_host() || !state->work->shm ||
        state->work->segments_refused || device->connection != CGX_PULL_NONE ||
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
    if (!has_local_peers(state))
        return code;
    if (!words[MEMORY] || words[DEVICE] == DEVICE_REFUSED || !words[IS_OLD])
        code = connect_anew(state, connecting, words);
    *by_device = code == CGX_MPI_SUCCESS && words[MEMORY] && words[DEVICE] == DEVICE_READY;
    if (code == CGX_MPI_SUCCESS && !*by_device)
        connect_segments(state, connecting->device);
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
    /* Flat sums have no local peers. */
    if (schedule->program.shape.nodes->most <= 1)
        return CGX_PULL_NONE;
    if (kind->by_device)
        return CGX_PULL_DEVICE;
    return device && device->connection == CGX_PULL_HOST && !are_small(schedule) ? CGX_PULL_HOST
                                                                                 : CGX_PULL_NONE;
}
