/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "allreduce_work.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As the library has it on slow networks where ranks share processors (src/coll/exchange.c): bytes
 * of a message on the wire, and how many of these are under way; NAP: nanoseconds. */
enum {
    FRAGMENT = 16384,
    WINDOW = 8,
    POLLS_BEFORE_YIELD = 32,
    POLLS_BEFORE_SLEEP = 512,
    NAP = 20000
};

struct message {
    int peer;
    bool sent; /* or received */
    char *data;
    size_t bytes;
    size_t posted;
};

/* Slot m * WINDOW + i is the ith of message m. */
struct payload {
    MPI_Comm comm;
    int rank, ranks;
    const size_t *chunks;
    char *out;                /* all chunks */
    char *in;                 /* room for as many bytes */
    char *parts;              /* this rank's chunk from all others */
    struct message *messages; /* two for each other rank */
    MPI_Request *requests;
    MPI_Status *statuses;
    int *indices;
};

static size_t sum_before(const size_t *chunks, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += chunks[i];
    return sum;
}

static char *touched(size_t bytes)
{
    char *memory = malloc(bytes + 1);

    if (memory)
        memset(memory, 1, bytes + 1);
    return memory;
}

struct payload *payload_create(MPI_Comm comm, const size_t *chunks)
{
    struct payload *payload = calloc(1, sizeof *payload);
    size_t messages, slots, all;

    if (!payload)
        return NULL;
    payload->comm = comm;
    payload->chunks = chunks;
    MPI_Comm_rank(comm, &payload->rank);
    MPI_Comm_size(comm, &payload->ranks);
    messages = 2 * (size_t)(payload->ranks - 1);
    slots = messages * WINDOW;
    all = sum_before(chunks, payload->ranks);
    payload->out = touched(all);
    payload->in = touched(all);
    payload->parts = touched((size_t)payload->ranks * chunks[payload->rank]);
    payload->messages = calloc(messages + 1, sizeof *payload->messages);
    payload->requests = calloc(slots + 1, sizeof(MPI_Request));
    payload->statuses = calloc(slots + 1, sizeof(MPI_Status));
    payload->indices = calloc(slots + 1, sizeof(int));
    if (payload->out && payload->in && payload->parts && payload->messages && payload->requests &&
        payload->statuses && payload->indices)
        return payload;
    payload_free(payload);
    return NULL;
}

void payload_free(struct payload *payload)
{
    if (!payload)
        return;
    free(payload->out);
    free(payload->in);
    free(payload->parts);
    free(payload->messages);
    free(payload->requests);
    free(payload->statuses);
    free(payload->indices);
    free(payload);
}

static void post(struct payload *payload, struct message *message, MPI_Request *request)
{
    size_t left = message->bytes - message->posted;
    size_t bytes = left < FRAGMENT ? left : FRAGMENT;
    char *data = message->data + message->posted;

    message->posted += bytes;
    if (message->sent)
        MPI_Isend(data, (int)bytes, MPI_BYTE, message->peer, 0, payload->comm, request);
    else
        MPI_Irecv(data, (int)bytes, MPI_BYTE, message->peer, 0, payload->comm, request);
}

static void post_first(struct payload *payload, int messages, bool sent)
{
    for (int m = 0; m < messages; m++) {
        struct message *message = &payload->messages[m];

        for (int i = 0; message->sent == sent && i < WINDOW; i++) {
            if (message->posted < message->bytes)
                post(payload, message, &payload->requests[m * WINDOW + i]);
        }
    }
}

static void wait_a_little(unsigned idle)
{
    struct timespec nap = {.tv_nsec = NAP};

    if (idle > POLLS_BEFORE_SLEEP)
        nanosleep(&nap, NULL);
    else if (idle > POLLS_BEFORE_YIELD)
        sched_yield();
}

static void complete(struct payload *payload, int messages)
{
    int done = 0;
    unsigned idle = 0;

    for (;;) {
        MPI_Testsome(messages * WINDOW, payload->requests, &done, payload->indices,
                     payload->statuses);
        if (done == MPI_UNDEFINED)
            return;
        idle = done > 0 ? 0 : idle + 1;
        if (done == 0)
            wait_a_little(idle);
        for (int i = 0; i < done; i++) {
            int slot = payload->indices[i];
            struct message *message = &payload->messages[slot / WINDOW];

            if (message->posted < message->bytes)
                post(payload, message, &payload->requests[slot]);
        }
    }
}

static void run(struct payload *payload)
{
    int messages = 2 * (payload->ranks - 1);

    for (int i = 0; i < messages * WINDOW; i++)
        payload->requests[i] = MPI_REQUEST_NULL;
    post_first(payload, messages, false);
    post_first(payload, messages, true);
    complete(payload, messages);
}

void payload_exchange(struct payload *payload)
{
    const size_t *chunks = payload->chunks;
    size_t own = chunks[payload->rank];
    char *mine = payload->out + sum_before(chunks, payload->rank);

    for (int phase = 0; phase < 2; phase++) {
        struct message *message = payload->messages;

        for (int peer = 0; peer < payload->ranks; peer++) {
            size_t offset = sum_before(chunks, peer);

            if (peer == payload->rank)
                continue;
            if (phase == 0) {
                *message++ =
                    (struct message){peer, false, payload->parts + (size_t)peer * own, own, 0};
                *message++ = (struct message){peer, true, payload->out + offset, chunks[peer], 0};
            } else {
                *message++ = (struct message){peer, false, payload->in + offset, chunks[peer], 0};
                *message++ = (struct message){peer, true, mine, own, 0};
            }
        }
        run(payload);
    }
}
