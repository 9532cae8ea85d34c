/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* As much of MPI as src/coll needs, over the network of scale_network.c. Of a message only its
 * header is carried. */
#include <stdlib.h>
#include <string.h>

#include "coll/slice.h"
#include "scale_world.h"

#define NONE_LEFT (-1) /* MPI_UNDEFINED */

static void *need(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* The number of the exchange that RANK is in. */
static unsigned seq_of(const struct scale_rank *rank)
{
    return rank->scratch.slices[rank->coll.state.slice % CGX_SLOTS].seq;
}

/* ---- requests ---- */

static int get_request(struct scale_rank *rank)
{
    int handle;

    if (rank->nspare == 0)
        abort();
    handle = rank->spare[--rank->nspare];
    rank->requests[handle - 1] = (struct scale_request){0};
    rank->pending++;
    return handle;
}

/* RANK finds it when it polls. */
static void complete(double time, struct scale_rank *rank, int handle, size_t bytes)
{
    rank->requests[handle - 1] = (struct scale_request){true, bytes};
    rank->ready++;
    if (!rank->polls) {
        rank->polls = true;
        scale_network_poll(time > rank->clock ? time : rank->clock, rank);
    }
}

void scale_mpi_left(double time, struct scale_rank *rank, int handle)
{
    complete(time, rank, handle, 0);
}

/* ---- who sends to whom in an exchange between nodes ---- */

static const struct cgx_node_grid *grid(void)
{
    return &scale_world.schedule.grid;
}

static enum cgx_level level_of(unsigned from, unsigned to)
{
    unsigned node = scale_node(from), other = scale_node(to);

    if (node == other)
        return CGX_LEVEL_NODE;
    return cgx_node_grid_row(grid(), node) == cgx_node_grid_row(grid(), other) ? CGX_LEVEL_ROW
                                                                               : CGX_LEVEL_COLUMN;
}

/* Of the members of a stage at LEVEL: how many there are with RANK, and which it is. */
static unsigned members_of(unsigned rank, enum cgx_level level, unsigned *self)
{
    unsigned row = cgx_node_grid_row(grid(), scale_node(rank));

    *self = level == CGX_LEVEL_ROW ? scale_node(rank) - cgx_node_grid_first(grid(), row) : row;
    return level == CGX_LEVEL_ROW ? cgx_node_grid_length(grid(), row) : grid()->rows;
}

/* The distance by which ghosts send as their models do. */
static unsigned distance(unsigned from, unsigned to, enum cgx_level level)
{
    unsigned self, other, members = members_of(to, level, &self);

    members_of(from, level, &other);
    return level == CGX_LEVEL_NODE ? 0 : (self + members - other) % members;
}

/* The rank that sends over distance KEY, less than there are members, to TO. */
static unsigned sender(unsigned to, unsigned key, enum cgx_level level)
{
    unsigned self, members = members_of(to, level, &self), from = (self + members - key) % members;
    unsigned row = cgx_node_grid_row(grid(), scale_node(to));
    unsigned node = level == CGX_LEVEL_ROW ? cgx_node_grid_first(grid(), row) + from
                                           : cgx_node_grid_first(grid(), from) + scale_node(to) -
                                                 cgx_node_grid_first(grid(), row);

    return node * scale_world.call->members + to % scale_world.call->members;
}

/* ---- what comes ---- */

static void take(double time, struct scale_rank *rank, struct scale_channel *channel,
                 const struct scale_message *message)
{
    struct scale_receive *receive = channel->receives;
    size_t bytes = message->bytes;

    channel->receives = receive->next;
    if (!channel->receives)
        channel->last_receive = &channel->receives;
    if (!scale_world.ranks[message->from]) {
        const struct cgx_message header = {.seq = (uint16_t)(channel->seq - 1),
                                           .plan = rank->coll.state.hash,
                                           .bytes = (size_t)(channel->end - channel->start) -
                                                    CGX_MESSAGE_HEADER_BYTES};

        cgx_message_write(&header, channel->start);
        bytes = receive->bytes;
    } else if (message->part == 0) {
        memcpy(receive->data, message->header,
               bytes < sizeof message->header ? bytes : sizeof message->header);
    }
    complete(time, rank, receive->request, bytes);
    free(receive);
}

void scale_mpi_deliver(double time, struct scale_message *message)
{
    struct scale_rank *rank = scale_world.ranks[message->to];
    struct scale_channel *channel = &rank->channels[message->from];

    if (channel->receives) {
        take(time, rank, channel, message);
        free(message);
        return;
    }
    message->next = NULL;
    *channel->last_message = message;
    channel->last_message = &message->next;
}

/* ---- ghosts ---- */

static void send_as_ghost(double time, struct scale_rank *to, unsigned from, unsigned seq,
                          size_t bytes)
{
    struct scale_message *message = need(calloc(1, sizeof *message));

    *message = (struct scale_message){
        .from = from, .to = to->number, .seq = seq, .request = -1, .bytes = bytes};
    scale_network_arrive(time, message);
}

/* Ghost FROM sends to TO, if that is what it does in the exchange. */
static void mirror_to(double time, struct scale_rank *to, unsigned from,
                      const struct scale_message *message)
{
    struct scale_channel *channel = &to->channels[from];

    if (scale_node(from) == scale_node(to->number))
        return;
    if (channel->seq == message->seq && channel->parts > channel->mirrored) {
        channel->mirrored++;
        send_as_ghost(time, to, from, message->seq, message->bytes);
    } else if (channel->seq <= message->seq) {
        channel->early = channel->early_seq == message->seq ? channel->early + 1 : 1;
        channel->early_seq = message->seq;
        channel->early_time = time;
        channel->early_bytes = message->bytes;
    }
}

void scale_mpi_mirror(double time, const struct scale_message *message)
{
    unsigned ranks = scale_world.call->ranks, self;
    enum cgx_level level = message->level;

    if (level == CGX_LEVEL_NODE)
        return;
    for (unsigned r = 0; scale_world.nrun < ranks && r < scale_world.nrun; r++) {
        unsigned to = scale_world.run[r]->number, members = members_of(to, level, &self);

        for (unsigned key = message->after + 1; key <= message->key && key < members; key++) {
            unsigned from = sender(to, key, level);

            if (from < ranks && !scale_world.ranks[from] &&
                scale_world.models[from] == message->from)
                mirror_to(time, scale_world.run[r], from, message);
        }
    }
}

void scale_mpi_flush(struct scale_rank *rank)
{
    struct scale_message *mark;

    if (rank->flushed == rank->seq || scale_world.nrun == scale_world.call->ranks)
        return;
    rank->flushed = rank->seq;
    mark = need(calloc(1, sizeof *mark));
    *mark = (struct scale_message){.from = rank->number,
                                   .seq = rank->seq,
                                   .after = rank->key,
                                   .level = rank->level,
                                   .key = scale_world.call->ranks - 1,
                                   .bytes = CGX_MESSAGE_HEADER_BYTES};
    scale_network_mark(rank->clock, mark);
}

/* ---- functions ---- */

/* Takes note of what is sent: a message begins where the exchange or the peer is another. */
static void count(struct scale_rank *rank, struct scale_message *message)
{
    struct scale_channel *channel = &rank->channels[message->to];
    struct cgx_message header;

    rank->counts.fragments++;
    rank->counts.bytes += message->bytes;
    if (rank->seq != message->seq) {
        rank->seq = message->seq;
        rank->key = 0;
        rank->level = level_of(message->from, message->to);
    }
    if (channel->sent_seq != message->seq) {
        channel->sent_seq = message->seq;
        channel->sent_parts = 0;
        channel->after = rank->key;
        rank->key = distance(message->from, message->to, rank->level);
        rank->counts.messages++;
        if (cgx_message_read(message->header, &header) == CGX_OK && header.bytes == 0)
            rank->counts.empty++;
    }
    message->part = channel->sent_parts++;
    message->after = channel->after;
    message->key = distance(message->from, message->to, rank->level);
    message->level = rank->level;
}

/* Exchanges are numbered from 1 on here, so that 0 is none. */
static int send(const void *data, int bytes, cgx_mpi_datatype type, int to, int tag,
                cgx_mpi_comm comm, void *handle)
{
    const struct scale_costs *costs = &scale_world.call->costs;
    struct scale_rank *rank = scale_now;
    struct scale_message *message = need(calloc(1, sizeof *message));
    bool eager = bytes <= costs->eager;
    int request = get_request(rank);

    (void)type, (void)tag, (void)comm;
    *message = (struct scale_message){.from = rank->number,
                                      .to = (unsigned)to,
                                      .seq = seq_of(rank) + 1,
                                      .request = eager ? -1 : request,
                                      .bytes = (size_t)bytes};
    memcpy(message->header, data,
           message->bytes < sizeof message->header ? message->bytes : sizeof message->header);
    count(rank, message);
    rank->clock += costs->send + costs->copy * bytes;
    memcpy(handle, &request, sizeof request);
    if (eager) {
        rank->requests[request - 1].complete = true;
        rank->ready++;
    }
    scale_network_send(rank->clock + (eager ? 0 : 2 * costs->latency), message);
    return CGX_MPI_SUCCESS;
}

static void begin_receive(struct scale_rank *rank, struct scale_channel *channel, unsigned from,
                          const struct scale_receive *receive)
{
    unsigned seq = seq_of(rank) + 1;

    if (channel->seq != seq) {
        channel->seq = seq;
        channel->parts = channel->mirrored = 0;
        channel->start = receive->data;
    }
    channel->parts++;
    channel->end = receive->data + receive->bytes;
    if (!scale_world.ranks[from] && channel->early_seq == seq && channel->early > 0) {
        channel->early--;
        channel->mirrored++;
        send_as_ghost(channel->early_time > rank->clock ? channel->early_time : rank->clock, rank,
                      from, seq, channel->early_bytes);
    }
}

static int receive(void *data, int bytes, cgx_mpi_datatype type, int from, int tag,
                   cgx_mpi_comm comm, void *handle)
{
    struct scale_rank *rank = scale_now;
    struct scale_channel *channel = &rank->channels[from];
    struct scale_receive *added = need(calloc(1, sizeof *added));

    (void)type, (void)tag, (void)comm;
    *added =
        (struct scale_receive){.request = get_request(rank), .data = data, .bytes = (size_t)bytes};
    memcpy(handle, &added->request, sizeof added->request);
    *channel->last_receive = added;
    channel->last_receive = &added->next;
    begin_receive(rank, channel, (unsigned)from, added);
    if (channel->messages) {
        struct scale_message *message = channel->messages;

        channel->messages = message->next;
        if (!channel->messages)
            channel->last_message = &channel->messages;
        take(rank->clock, rank, channel, message);
        free(message);
    }
    return CGX_MPI_SUCCESS;
}

static int testsome(int given, void *requests, int *done, int *indices, void *statuses)
{
    const struct scale_costs *costs = &scale_world.call->costs;
    struct scale_rank *rank = scale_now;
    int *handles = requests, *received = statuses;
    bool any = false;

    *done = 0;
    rank->counts.polls++;
    rank->counts.polled += (uint64_t)given;
    rank->clock += costs->poll + costs->slot * given;
    for (int i = 0; i < given; i++) {
        struct scale_request *request;

        if (handles[i] == 0)
            continue;
        any = true;
        request = &rank->requests[handles[i] - 1];
        if (!request->complete)
            continue;
        rank->clock +=
            request->bytes > 0 ? costs->receive + costs->copy * (double)request->bytes : 0;
        received[*done] = (int)request->bytes;
        indices[(*done)++] = i;
        rank->spare[rank->nspare++] = handles[i];
        rank->pending--;
        rank->ready--;
        handles[i] = 0;
    }
    if (!any)
        *done = NONE_LEFT;
    return CGX_MPI_SUCCESS;
}

static int get_count(const void *status, cgx_mpi_datatype type, int *bytes)
{
    (void)type;
    *bytes = *(const int *)status;
    return CGX_MPI_SUCCESS;
}

static int iprobe(int from, int tag, cgx_mpi_comm comm, int *flag)
{
    (void)from, (void)tag, (void)comm;
    *flag = 0;
    return CGX_MPI_SUCCESS;
}

const struct cgx_mpi scale_mpi = {.UNDEFINED = NONE_LEFT,
                                  .request_bytes = sizeof(int),
                                  .status_bytes = sizeof(int),
                                  .Iprobe = iprobe,
                                  .Isend = send,
                                  .Irecv = receive,
                                  .Testsome = testsome,
                                  .Get_count = get_count};

void scale_mpi_release(struct scale_rank *rank)
{
    for (unsigned peer = 0; rank->channels && peer < scale_world.call->ranks; peer++) {
        struct scale_channel *channel = &rank->channels[peer];

        while (channel->messages) {
            struct scale_message *next = channel->messages->next;

            free(channel->messages);
            channel->messages = next;
        }
        while (channel->receives) {
            struct scale_receive *next = channel->receives->next;

            free(channel->receives);
            channel->receives = next;
        }
    }
}
