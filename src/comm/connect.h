/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank can serve a call, where ranks are, and how those of a node are connected. */
#ifndef CGX_COMM_CONNECT_H
#define CGX_COMM_CONNECT_H

#include "comm/state.h"
#include "cuda/device_backend.h"
#include "mpi/request.h"
#include "topo/claims.h"

/* ---- this rank ---- */

struct cgx_capability {
    const struct cgx_request *request;
    enum cgx_reason refusal;     /* why it cannot compress the call */
    struct cgx_backend *backend; /* of the receive buffer; NULL until obtained */
    bool shared;                 /* it is the send buffer's too */
};

/* Obtains the backend, unless there is a refusal; sets one on failure. The scratch memory must be
 * reserved. */
void cgx_capability_get_backend(struct cgx_comm *state, struct cgx_capability *capability);

/* The input elements where the backend finds them: unless both buffers are in its memory, they are
 * copied to OUTPUT, which stands for the receive buffer. Sets a refusal on failure. */
const void *cgx_capability_input(struct cgx_capability *capability, void *output);

/* What this rank can do for the call. */
enum cgx_vote cgx_capability_vote(const struct cgx_capability *capability);

/* ---- where ranks are (placement.c), and so how their sums are formed ---- */

/* Finds STATE's nodes, the network between them and the pace of messages. Nodes follow
 * CGX_TOPOLOGY or, if that is auto or contradicts the job (rank 0 warns once), machines: ranks of
 * one kernel and host name share a node. All ranks find them or none.
 *
 * Begin says in WORDS of a ballot whether this rank has the memory for that, and which node it is
 * on. If the joint WORDS say that all ranks have it, end gathers the rest, unless the nodes are
 * known or the ballot failed, as its CODE says. It frees what begin made, and returns CODE or that
 * of the communicator's error handler. */
#define CGX_PLACING_WORDS 3
struct cgx_placing {
    struct cgx_nodes *nodes;
    struct cgx_claim mine, *claims; /* this rank's, those of all ranks, ... */
    int *keys;                      /* ... and the nodes that these name */
};

void cgx_placement_begin(struct cgx_comm *state, struct cgx_placing *placing, uint32_t *words);
int cgx_placement_end(struct cgx_comm *state, struct cgx_placing *placing, const uint32_t *words,
                      int code);

/* Devices of a node turned out not to read each other's memory, on all ranks: the network of a
 * single node is another one, and schedules made with it have become stale. */
void cgx_placement_unlink(struct cgx_comm *state);

/* ---- the ranks of a node ---- */

/* What a rank offers its local peers. */
struct cgx_means {
    struct cgx_shared_handle memory;
    struct cgx_cuda_handle mirror;
};

/* The most ranks of a node that may share staging memory, by CGX_INNER_COMMUNICATOR_TYPE; for
 * struct cgx_scratch. */
unsigned cgx_connect_local_peers(const struct cgx_comm *state);

/* Connects local peers after staging memory or backends may have changed on some rank. Either all
 * ranks share memory with their local peers, or none does from then on, which is logged. The same
 * holds for device memory, if CGX_INNER_COMMUNICATOR_TYPE allows it, in calls with the backend
 * DEVICE on this rank (NULL: none). Otherwise DEVICE copies from what local peers share, if it can.
 *
 * Begin says what this rank has: words of a ballot. Of the joint ones connect makes the connection,
 * if there is something new, by a gather and a ballot. *BY_DEVICE: on all ranks such calls go from
 * device to device. The caller frees THEIRS. Returns the code of the communicator's error
 * handler. */
#define CGX_CONNECT_WORDS 3
struct cgx_connecting {
    struct cgx_backend *device;
    struct cgx_means mine, *theirs; /* this rank's, and those of all ranks */
};
void cgx_connect_begin(struct cgx_comm *state, struct cgx_backend *device,
                       struct cgx_connecting *connecting, uint32_t *words);
int cgx_connect(struct cgx_comm *state, struct cgx_connecting *connecting, uint32_t *words,
                bool *by_device);

/* How DEVICE gets the payloads of local peers in calls of KIND with SCHEDULE. Only CGX_PULL_DEVICE
 * must be the same on all ranks. */
enum cgx_pull cgx_connect_pull(const struct cgx_kind *kind, const struct cgx_schedule *schedule,
                               const struct cgx_backend *device);

#endif
