/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Discrete events. A message waits for those before it at the interface of its sender's node, and
 * the same on the other side. */
#include <stdlib.h>

#include "scale_world.h"

enum kind { SENT, MARKED, LEFT, ARRIVED, DELIVERED, POLLED };

struct event {
    double time;
    uint64_t serial; /* of equal times the first comes first */
    enum kind kind;
    int request;
    union {
        struct scale_message *message;
        struct scale_rank *rank;
    } what;
};

/* Until when they are taken. */
struct interface {
    double out, in;
};

static struct {
    struct event *heap;
    size_t used, room;
    uint64_t serial;
    struct interface *interfaces; /* by node */
    double *local;                /* by rank */
} network;

bool scale_network_open(void)
{
    network.interfaces = calloc(scale_world.call->ranks, sizeof *network.interfaces);
    network.local = calloc(scale_world.call->ranks, sizeof *network.local);
    return network.interfaces && network.local;
}

void scale_network_close(void)
{
    for (size_t i = 0; i < network.used; i++) {
        if (network.heap[i].kind != LEFT && network.heap[i].kind != POLLED)
            free(network.heap[i].what.message);
    }
    free(network.heap);
    free(network.interfaces);
    free(network.local);
    network.heap = NULL;
    network.used = network.room = 0;
}

/* ---- events ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->serial < b->serial);
}

static void push(struct event event)
{
    struct event *heap = network.heap;
    size_t at = network.used++;

    if (network.used > network.room) {
        network.room = network.room > 0 ? 2 * network.room : 1024;
        heap = realloc(heap, network.room * sizeof *heap);
        if (!heap)
            abort();
        network.heap = heap;
    }
    event.serial = network.serial++;
    for (size_t above; at > 0 && is_before(&event, &heap[above = (at - 1) / 2]); at = above)
        heap[at] = heap[above];
    heap[at] = event;
}

static struct event pop(void)
{
    struct event *heap = network.heap;
    struct event first = heap[0], last = heap[--network.used];
    size_t at = 0;

    for (size_t below; (below = 2 * at + 1) < network.used; at = below) {
        if (below + 1 < network.used && is_before(&heap[below + 1], &heap[below]))
            below++;
        if (!is_before(&heap[below], &last))
            break;
        heap[at] = heap[below];
    }
    heap[at] = last;
    return first;
}

void scale_network_send(double time, struct scale_message *message)
{
    push((struct event){.time = time, .kind = SENT, .what.message = message});
}

void scale_network_mark(double time, struct scale_message *mark)
{
    push((struct event){.time = time, .kind = MARKED, .what.message = mark});
}

void scale_network_arrive(double time, struct scale_message *message)
{
    push((struct event){.time = time, .kind = ARRIVED, .what.message = message});
}

void scale_network_poll(double time, struct scale_rank *rank)
{
    push((struct event){.time = time, .kind = POLLED, .what.rank = rank});
}

/* ---- queues ---- */

/* When BYTES that come at TIME are through a queue of RATE that is taken until *UNTIL; after a rest
 * BURST bytes take no time. */
static double pass(double time, double *until, double bytes, double rate, double burst)
{
    double begin = time - burst / rate;

    *until = (*until > begin ? *until : begin) + bytes / rate;
    return *until > time ? *until : time;
}

static bool is_local(const struct scale_message *message)
{
    return scale_node(message->from) == scale_node(message->to);
}

static void send_local(double time, struct scale_message *message)
{
    const struct scale_costs *costs = &scale_world.call->costs;
    double left =
        pass(time, &network.local[message->from], (double)message->bytes, costs->local_rate, 0);

    push((struct event){
        .time = left + costs->local_latency, .kind = DELIVERED, .what.message = message});
    if (message->request >= 0)
        scale_mpi_left(left, scale_world.ranks[message->from], message->request);
}

static void send(double time, struct scale_message *message)
{
    const struct scale_costs *costs = &scale_world.call->costs;
    struct interface *at = &network.interfaces[scale_node(message->from)];
    struct scale_rank *sender = scale_world.ranks[message->from];
    double left, there;

    if (is_local(message)) {
        send_local(time, message);
        return;
    }
    left = pass(time, &at->out, (double)message->bytes, costs->rate, costs->burst);
    there = left + costs->latency;
    if (message->request >= 0)
        push((struct event){
            .time = left, .kind = LEFT, .request = message->request, .what.rank = sender});
    scale_mpi_mirror(there, message);
    if (scale_world.ranks[message->to])
        scale_network_arrive(there, message);
    else
        free(message);
}

static void arrive(double time, struct scale_message *message)
{
    const struct scale_costs *costs = &scale_world.call->costs;
    struct interface *at = &network.interfaces[scale_node(message->to)];

    time = pass(time, &at->in, (double)message->bytes, costs->rate, costs->burst);
    push((struct event){.time = time, .kind = DELIVERED, .what.message = message});
}

/* Behind what its sender's interface still has. */
static void mark(double time, struct scale_message *message)
{
    struct interface *at = &network.interfaces[scale_node(message->from)];

    scale_mpi_mirror((at->out > time ? at->out : time) + scale_world.call->costs.latency, message);
    free(message);
}

bool scale_network_step(void)
{
    struct event event;

    if (network.used == 0)
        return false;
    event = pop();
    switch (event.kind) {
    case SENT:
        send(event.time, event.what.message);
        break;
    case MARKED:
        mark(event.time, event.what.message);
        break;
    case LEFT:
        scale_mpi_left(event.time, event.what.rank, event.request);
        break;
    case ARRIVED:
        arrive(event.time, event.what.message);
        break;
    case DELIVERED:
        scale_mpi_deliver(event.time, event.what.message);
        break;
    case POLLED:
        scale_run_poll(event.time, event.what.rank);
        break;
    }
    return true;
}
