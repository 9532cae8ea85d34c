/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Brings the events of all ranks to rank 0, which exchanges messages with one rank after the other.
 * A rank whose MPI fails gives up, and notifies the rank that may be waiting for it. */
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "mpi/errors.h"
#include "mpi/stall.h"
#include "mpi/table.h"
#include "observe/timeline.h"

/* Round trips to each rank; the shortest compares the clocks. */
#define ROUNDS 8

/* On MPI_COMM_WORLD; all messages of the program have arrived when these are sent. */
#define TAG 0x6378

/* ---- messages ---- */

enum direction { SEND, RECEIVE };

/* For this many polls the other rank is expected to answer soon. */
#define POLLS_BEFORE_NAP 2000

struct message {
    _Alignas(max_align_t) unsigned char request[CGX_MPI_REQUEST_MOST];
    enum direction direction;
    size_t bytes;
    int peer;
};

static int begin_message(struct message *message, enum direction direction, void *data,
                         size_t bytes, int peer)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    message->direction = direction;
    message->bytes = bytes;
    message->peer = peer;
    if (direction == SEND)
        return mpi->Isend(data, (int)bytes, mpi->BYTE, peer, TAG, mpi->COMM_WORLD,
                          message->request);
    return mpi->Irecv(data, (int)bytes, mpi->BYTE, peer, TAG, mpi->COMM_WORLD, message->request);
}

static void nap_and_watch(struct cgx_stall *stall, int peer)
{
    static const struct timespec nap = {.tv_nsec = 100000};
    char rank[16];

    nanosleep(&nap, NULL);
    if (!cgx_stall_due(stall))
        return;
    snprintf(rank, sizeof rank, "rank %d", peer);
    cgx_stall_warn(stall, rank);
}

/* Waits for MESSAGE. If it is shorter than expected, its sender has given up: see give_up. */
static int end_message(struct message *message)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    _Alignas(max_align_t) unsigned char status[CGX_MPI_STATUS_MOST];
    struct cgx_stall stall = {0};
    int code = CGX_MPI_SUCCESS, index, done = 0, count = 0;

    for (unsigned polls = 0; code == CGX_MPI_SUCCESS && done == 0; polls++) {
        code = mpi->Testsome(1, message->request, &done, &index, status);
        if (done == 0 && polls < POLLS_BEFORE_NAP)
            sched_yield();
        else if (done == 0)
            nap_and_watch(&stall, message->peer);
    }
    if (code != CGX_MPI_SUCCESS || message->direction == SEND)
        return code;
    code = mpi->Get_count(status, mpi->BYTE, &count);
    return code == CGX_MPI_SUCCESS && (size_t)count < message->bytes ? mpi->ERR_OTHER : code;
}

static int move(enum direction direction, void *data, size_t bytes, int peer)
{
    struct message message;
    int code = begin_message(&message, direction, data, bytes, peer);

    return code == CGX_MPI_SUCCESS ? end_message(&message) : code;
}

/* After MPI has failed: sends an empty message to PEER, which may be waiting for one. */
static void give_up(int peer)
{
    static char nothing;

    move(SEND, &nothing, 0, peer);
}

/* ---- other ranks ---- */

static int send_all(const struct cgx_timeline_events *mine)
{
    static int64_t now; /* static: a failed receive may still be written to */
    int code = move(SEND, (void *)&mine->about, sizeof mine->about, 0);

    for (int i = 0; code == CGX_MPI_SUCCESS && i < ROUNDS; i++) {
        code = move(RECEIVE, &now, sizeof now, 0);
        now = cgx_trace_clock();
        if (code == CGX_MPI_SUCCESS)
            code = move(SEND, &now, sizeof now, 0);
    }
    if (code != CGX_MPI_SUCCESS)
        return code;
    /* Large messages wait for their receiver, so rank 0 asks for them first. */
    code = move(RECEIVE, &now, sizeof now, 0);
    if (code != CGX_MPI_SUCCESS || mine->about.kept == 0)
        return code;
    return move(SEND, (void *)mine->events, mine->about.kept * sizeof *mine->events, 0);
}

void cgx_timeline_send(const struct cgx_timeline_events *mine)
{
    int able = 1;
    int code = cgx_mpi_least(cgx_mpi()->COMM_WORLD, &able, 1);

    if (code == CGX_MPI_SUCCESS && able && send_all(mine) != CGX_MPI_SUCCESS)
        give_up(0);
}

/* Sets RANK's shift to this rank's clock. If the clocks may be equal, as those of ranks on one host
 * are, the shift is 0. */
static int compare_clocks(struct cgx_timeline_rank *rank)
{
    static int64_t there; /* static: a failed receive may still be written to */
    int64_t shortest = INT64_MAX;
    int code = CGX_MPI_SUCCESS;

    for (int i = 0; code == CGX_MPI_SUCCESS && i < ROUNDS; i++) {
        int64_t sent = cgx_trace_clock(), back;

        code = move(SEND, &sent, sizeof sent, rank->rank);
        if (code == CGX_MPI_SUCCESS)
            code = move(RECEIVE, &there, sizeof there, rank->rank);
        back = cgx_trace_clock_since(sent);
        if (back - sent >= shortest)
            continue;
        shortest = back - sent;
        rank->error = shortest / 2;
        rank->shift = sent + rank->error - there;
        if (there >= sent && there <= back)
            rank->shift = rank->error = 0;
    }
    return code;
}

/* ---- rank 0 ---- */

/* Receives from RANKS, of which the first is this one, how many events they have and when the first
 * began. Times in the file begin with the first event of all ranks. */
static int meet_ranks(struct cgx_timeline_rank *ranks, int size)
{
    int64_t start = ranks[0].first;
    int code = CGX_MPI_SUCCESS;

    for (int i = 1; i < size; i++) {
        ranks[i] = (struct cgx_timeline_rank){.rank = i};
        if (code == CGX_MPI_SUCCESS)
            code = move(RECEIVE, &ranks[i], sizeof ranks[i], i);
        ranks[i].rank = i;
        if (ranks[i].kept > CGX_TRACE_EVENTS)
            ranks[i].kept = CGX_TRACE_EVENTS;
        if (code == CGX_MPI_SUCCESS)
            code = compare_clocks(&ranks[i]);
        if (ranks[i].kept > 0 && ranks[i].first + ranks[i].shift < start)
            start = ranks[i].first + ranks[i].shift;
    }
    for (int i = 0; i < size; i++)
        ranks[i].shift -= start == INT64_MAX ? 0 : start;
    return code;
}

/* Replaces those of COUNT received EVENTS that are invalid by empty ones. */
static void check_events(struct cgx_trace_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].kind >= CGX_TRACE_KINDS || events[i].type > CGX_TYPE_OPAQUE16 ||
            events[i].outcome > CGX_OUTCOME_BROKEN)
            events[i] = (struct cgx_trace_event){.kind = CGX_TRACE_DRAIN};
}

/* Receives the events of RANK, which sends them when it hears that they are awaited. */
static int receive_events(const struct cgx_timeline_rank *rank, struct cgx_trace_event *room)
{
    static int64_t awaited;
    struct message events;
    int code = CGX_MPI_SUCCESS;

    if (rank->kept > 0)
        code = begin_message(&events, RECEIVE, room, rank->kept * sizeof *room, rank->rank);
    if (code == CGX_MPI_SUCCESS)
        code = move(SEND, &awaited, sizeof awaited, rank->rank);
    if (code == CGX_MPI_SUCCESS && rank->kept > 0)
        code = end_message(&events);
    check_events(room, rank->kept);
    return code;
}

int cgx_timeline_gather(FILE *file, const struct cgx_timeline_events *mine,
                        struct cgx_timeline_rank *ranks, int size, struct cgx_trace_event *room)
{
    int code;

    ranks[0] = mine->about;
    code = meet_ranks(ranks, size);
    cgx_timeline_put_head(file, ranks, (size_t)size);
    cgx_timeline_put_rank(file, &ranks[0], mine->events, true);
    for (int i = 1; code == CGX_MPI_SUCCESS && i < size; i++) {
        code = receive_events(&ranks[i], room);
        if (code == CGX_MPI_SUCCESS)
            cgx_timeline_put_rank(file, &ranks[i], room, false);
    }
    cgx_timeline_put_tail(file);
    for (int i = 1; code != CGX_MPI_SUCCESS && i < size; i++)
        give_up(i);
    return code;
}
