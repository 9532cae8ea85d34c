/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/scene.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REQUESTS 1024 /* of a rank */
#define NONE_LEFT (-1)     /* MPI_UNDEFINED */

/* A message that has come, or a receive that waits for one. */
struct entry {
    struct entry *next;
    size_t bytes;
    unsigned char *data; /* a message's own memory, a receive's buffer */
    int request;         /* of a receive */
};

/* Between two ranks: messages or receives, whichever there are too many of. */
struct channel {
    struct entry *first, **last;
    bool receives;
};

struct request {
    enum { FREE, PENDING, COMPLETE } state;
    size_t bytes; /* received */
};

struct rank {
    struct world *world;
    unsigned number;
    pthread_t thread;
    pthread_cond_t arrived;
    struct request requests[MOST_REQUESTS];
};

struct world {
    pthread_mutex_t lock;
    unsigned size;
    struct channel *channels; /* from rank f to rank t: f * size + t */
    void (*body)(void *context, unsigned rank);
    void *context;
    struct rank ranks[];
};

static _Thread_local struct rank *self;

/* ---- requests ---- */

static void *need(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* Handles are indices from 1 on; 0: none. */
static int get_request(int state, int *handle)
{
    int index = 0;

    while (index < MOST_REQUESTS && self->requests[index].state != FREE)
        index++;
    if (index == MOST_REQUESTS)
        abort();
    self->requests[index].state = state;
    *handle = index + 1;
    return index;
}

static struct request *request_of(int handle)
{
    return &self->requests[handle - 1];
}

/* ---- messages ---- */

static struct channel *channel(unsigned from, unsigned to)
{
    return &self->world->channels[from * self->world->size + to];
}

static void append(struct channel *to, bool receive, struct entry entry)
{
    struct entry *added = need(malloc(sizeof *added));

    *added = entry;
    to->receives = receive;
    *to->last = added;
    to->last = &added->next;
}

static struct entry take_first(struct channel *from)
{
    struct entry *first = from->first, taken = *first;

    from->first = first->next;
    if (!from->first)
        from->last = &from->first;
    free(first);
    return taken;
}

static int loopback_send(const void *data, int count, cgx_mpi_datatype type, int to, int tag,
                         cgx_mpi_comm comm, void *handle)
{
    struct channel *way = channel(self->number, (unsigned)to);
    struct rank *peer = &self->world->ranks[to];
    size_t bytes = (size_t)count;

    (void)type, (void)tag, (void)comm;
    pthread_mutex_lock(&self->world->lock);
    get_request(COMPLETE, handle);
    if (way->first && way->receives) {
        struct entry receive = take_first(way);

        if (bytes > receive.bytes)
            abort();
        memcpy(receive.data, data, bytes);
        peer->requests[receive.request] = (struct request){COMPLETE, bytes};
        pthread_cond_signal(&peer->arrived);
    } else {
        struct entry message = {.bytes = bytes, .data = need(malloc(bytes + 1))};

        memcpy(message.data, data, bytes);
        append(way, false, message);
    }
    pthread_mutex_unlock(&self->world->lock);
    return CGX_MPI_SUCCESS;
}

static int loopback_receive(void *data, int count, cgx_mpi_datatype type, int from, int tag,
                            cgx_mpi_comm comm, void *handle)
{
    struct channel *way = channel((unsigned)from, self->number);
    int request;

    (void)type, (void)tag, (void)comm;
    pthread_mutex_lock(&self->world->lock);
    request = get_request(PENDING, handle);
    if (way->first && !way->receives) {
        struct entry message = take_first(way);

        if (message.bytes > (size_t)count)
            abort();
        memcpy(data, message.data, message.bytes);
        self->requests[request] = (struct request){COMPLETE, message.bytes};
        free(message.data);
    } else {
        append(way, true, (struct entry){.bytes = (size_t)count, .data = data, .request = request});
    }
    pthread_mutex_unlock(&self->world->lock);
    return CGX_MPI_SUCCESS;
}

/* Waits until there is something: nobody polls for other things here. */
static int loopback_testsome(int count, void *requests, int *done, int *indices, void *statuses)
{
    int *handles = requests, *received = statuses;
    bool any = false;

    *done = 0;
    pthread_mutex_lock(&self->world->lock);
    for (;;) {
        for (int i = 0; i < count; i++) {
            struct request *request;

            if (handles[i] == 0)
                continue;
            any = true;
            request = request_of(handles[i]);
            if (request->state != COMPLETE)
                continue;
            received[*done] = (int)request->bytes;
            indices[(*done)++] = i;
            request->state = FREE;
            handles[i] = 0;
        }
        if (*done > 0 || !any)
            break;
        pthread_cond_wait(&self->arrived, &self->world->lock);
    }
    pthread_mutex_unlock(&self->world->lock);
    if (!any)
        *done = NONE_LEFT;
    return CGX_MPI_SUCCESS;
}

static int loopback_get_count(const void *status, cgx_mpi_datatype type, int *count)
{
    (void)type;
    *count = *(const int *)status;
    return CGX_MPI_SUCCESS;
}

static int loopback_iprobe(int from, int tag, cgx_mpi_comm comm, int *flag)
{
    (void)from, (void)tag, (void)comm;
    *flag = 0;
    return CGX_MPI_SUCCESS;
}

const struct cgx_mpi loopback_mpi = {.UNDEFINED = NONE_LEFT,
                                     .request_bytes = sizeof(int),
                                     .status_bytes = sizeof(int),
                                     .Iprobe = loopback_iprobe,
                                     .Isend = loopback_send,
                                     .Irecv = loopback_receive,
                                     .Testsome = loopback_testsome,
                                     .Get_count = loopback_get_count};

/* ---- ranks ---- */

static void *run_rank(void *rank)
{
    self = rank;
    self->world->body(self->world->context, self->number);
    return NULL;
}

void loopback_run(unsigned ranks, void (*body)(void *context, unsigned rank), void *context)
{
    struct world *world = need(calloc(1, sizeof *world + ranks * sizeof world->ranks[0]));

    world->channels = need(calloc((size_t)ranks * ranks, sizeof *world->channels));
    world->size = ranks;
    world->body = body;
    world->context = context;
    pthread_mutex_init(&world->lock, NULL);
    for (unsigned i = 0; i < ranks * ranks; i++)
        world->channels[i].last = &world->channels[i].first;
    for (unsigned i = 0; i < ranks; i++) {
        world->ranks[i].world = world;
        world->ranks[i].number = i;
        pthread_cond_init(&world->ranks[i].arrived, NULL);
    }
    for (unsigned i = 0; i < ranks; i++) {
        if (pthread_create(&world->ranks[i].thread, NULL, run_rank, &world->ranks[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < ranks; i++)
        pthread_join(world->ranks[i].thread, NULL);
    for (unsigned i = 0; i < ranks * ranks; i++) {
        if (world->channels[i].first)
            abort();
    }
    for (unsigned i = 0; i < ranks; i++)
        pthread_cond_destroy(&world->ranks[i].arrived);
    pthread_mutex_destroy(&world->lock);
    free(world->channels);
    free(world);
}

enum cgx_status loopback_exchange(struct cgx_exchange *exchange,
                                  const struct cgx_transports *transports,
                                  struct cgx_transfer *transfers, size_t ntransfers)
{
    enum cgx_status status = cgx_exchange_begin(exchange, transports, transfers, ntransfers);
    bool complete = false;

    while (status == CGX_OK && !complete) {
        status = cgx_exchange_poll(exchange, &complete);
        cgx_exchange_rest(exchange);
    }
    return status;
}
