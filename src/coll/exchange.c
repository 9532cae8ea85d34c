/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/exchange.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/format.h"
#include "mpi/stall.h"

/* The most fragments under way of one transfer, and of all transfers; each transfer may have at
 * least one. */
#define WINDOW 8
#define SLOTS 2048

/* A rank polls so often without progress before it yields its processor, and before it sleeps if
 * ranks share processors. A rank that has a processor and waits for shared memory alone yields
 * late, after a millisecond: yielding may cost a time slice of whatever else runs, which is as long
 * as many sums. */
#define POLLS_BEFORE_YIELD 32
#define POLLS_BEFORE_LATE_YIELD 8192
#define POLLS_BEFORE_SLEEP 512
#define SLEEP_NANOSECONDS 20000
/* Polls without progress between queries whether the program has revoked its communicator. */
#define POLLS_BEFORE_QUERY 1024
/* Polls without progress between looks at the clock, once the rank sleeps or could sleep. */
#define POLLS_BEFORE_LOOK 64
#define MOST_NAMED 8

struct cgx_exchange {
    size_t most;   /* the most transfers */
    size_t window; /* the most fragments of each transfer under way */
    /* Arrays by slot: a fragment's request, in the MPI library's format, and its transfer. */
    unsigned char *requests;
    struct cgx_transfer **owners;
    unsigned char *statuses; /* statuses of completed fragments, in the MPI library's format */
    int *indices;
    /* The current exchange: */
    struct cgx_transports transports;
    struct cgx_transfer *transfers;
    size_t ntransfers;
    size_t nfragments;      /* number of fragments under way, in the first slots */
    unsigned idle;          /* number of polls since the last progress */
    struct cgx_stall stall; /* the time since the last progress */
    int code;               /* MPI's error code after a failure */
};

struct cgx_exchange *cgx_exchange_create(size_t transfers)
{
    struct cgx_exchange *exchange = calloc(1, sizeof *exchange);
    size_t window = transfers * WINDOW > SLOTS ? SLOTS / transfers : WINDOW;
    size_t slots;

    if (!exchange)
        return NULL;
    exchange->most = transfers;
    exchange->window = window > 0 ? window : 1;
    slots = transfers * exchange->window;
    exchange->requests = calloc(slots, CGX_MPI_REQUEST_MOST);
    exchange->owners = calloc(slots, sizeof *exchange->owners);
    exchange->statuses = calloc(slots, CGX_MPI_STATUS_MOST);
    exchange->indices = calloc(slots, sizeof *exchange->indices);
    if (!exchange->requests || !exchange->owners || !exchange->statuses || !exchange->indices) {
        cgx_exchange_free(exchange);
        return NULL;
    }
    return exchange;
}

void cgx_exchange_free(struct cgx_exchange *exchange)
{
    if (!exchange)
        return;
    free(exchange->requests);
    free(exchange->owners);
    free(exchange->statuses);
    free(exchange->indices);
    free(exchange);
}

/* ---- fragments ---- */

static unsigned char *request_of(const struct cgx_exchange *exchange, size_t slot)
{
    return exchange->requests + slot * exchange->transports.mpi->request_bytes;
}

static int post_fragment(struct cgx_exchange *exchange, struct cgx_transfer *transfer, size_t slot)
{
    const struct cgx_transports *by = &exchange->transports;
    void *request = request_of(exchange, slot);
    size_t begin = transfer->posted, left = transfer->bytes - begin;
    size_t end = begin + (left < by->pace.fragment ? left : by->pace.fragment);

    exchange->owners[slot] = transfer;
    transfer->posted = end;
    if (transfer->direction == CGX_TRANSFER_RECEIVE)
        return by->mpi->Irecv(transfer->data + begin, (int)(end - begin), by->mpi->BYTE,
                              transfer->peer, by->tag, by->comm, request);
    if (begin > transfer->filled)
        begin = transfer->filled;
    if (end > transfer->filled)
        end = transfer->filled;
    return by->mpi->Isend(transfer->data + begin, (int)(end - begin), by->mpi->BYTE, transfer->peer,
                          by->tag, by->comm, request);
}

/* Posts up to MOST further fragments of TRANSFER, in new slots. */
static int post_fragments(struct cgx_exchange *exchange, struct cgx_transfer *transfer, size_t most)
{
    int code = CGX_MPI_SUCCESS;

    for (size_t i = 0; code == CGX_MPI_SUCCESS && i < most && transfer->posted < transfer->bytes;
         i++)
        code = post_fragment(exchange, transfer, exchange->nfragments++);
    return code;
}

static int post_first(struct cgx_exchange *exchange, int direction)
{
    int code = CGX_MPI_SUCCESS;

    for (size_t t = 0; code == CGX_MPI_SUCCESS && t < exchange->ntransfers; t++) {
        struct cgx_transfer *transfer = &exchange->transfers[t];
        bool waits = transfer->has_variable_size && direction == CGX_TRANSFER_RECEIVE;

        if ((int)transfer->direction == direction && !transfer->pending)
            code = post_fragments(exchange, transfer, waits ? 1 : exchange->window);
    }
    return code;
}

/* Records that the fragment in SLOT is complete and posts the transfer's next one there. If there
 * is none, SLOT has no owner. */
static int advance_transfer(struct cgx_exchange *exchange, size_t slot, const void *status)
{
    const struct cgx_mpi *mpi = exchange->transports.mpi;
    struct cgx_transfer *transfer = exchange->owners[slot];
    int count, code;

    if (transfer->direction == CGX_TRANSFER_RECEIVE) {
        code = mpi->Get_count(status, mpi->BYTE, &count);
        if (code != CGX_MPI_SUCCESS)
            return code;
        transfer->filled += (size_t)count;
        if (transfer->has_variable_size && !transfer->started) {
            /* The first fragment says how long the message is. */
            transfer->started = true;
            transfer->bytes = cgx_message_bytes(transfer->data, transfer->filled, transfer->bytes);
            code = post_fragments(exchange, transfer, exchange->window - 1);
            if (code != CGX_MPI_SUCCESS)
                return code;
        }
    }
    if (transfer->posted < transfer->bytes)
        return post_fragment(exchange, transfer, slot);
    exchange->owners[slot] = NULL;
    return CGX_MPI_SUCCESS;
}

/* Moves the last fragments into slots without an owner, since each slot makes a poll take longer.
 */
static void close_gaps(struct cgx_exchange *exchange)
{
    size_t slot = 0;

    while (slot < exchange->nfragments) {
        size_t last = exchange->nfragments - 1;

        if (exchange->owners[slot]) {
            slot++;
            continue;
        }
        exchange->owners[slot] = exchange->owners[last];
        memmove(request_of(exchange, slot), request_of(exchange, last),
                exchange->transports.mpi->request_bytes);
        exchange->nfragments--;
    }
}

/* Polls MPI and returns an error if the communicator has failed. No message has this tag. */
static int probe_failure(const struct cgx_transports *by)
{
    int flag;

    return by->mpi->Iprobe(by->mpi->ANY_SOURCE, by->tag + CGX_TAG_NEVER, by->comm, &flag);
}

static bool is_revoked(const struct cgx_mpi *mpi, cgx_mpi_comm comm)
{
    int revoked = 0;

    return mpi->Comm_is_revoked && mpi->Comm_is_revoked(comm, &revoked) == CGX_MPI_SUCCESS &&
           revoked;
}

/* Advances the completed fragments; *DONE: their number. On a revoked communicator requests are not
 * tested: Open MPI 5 would free those that are still being sent, and abort once they are. */
static int advance_fragments(struct cgx_exchange *exchange, int *done)
{
    const struct cgx_mpi *mpi = exchange->transports.mpi;
    int code = CGX_MPI_SUCCESS;

    if (is_revoked(mpi, exchange->transports.comm))
        code = probe_failure(&exchange->transports);
    if (code != CGX_MPI_SUCCESS)
        return code;
    code = mpi->Testsome((int)exchange->nfragments, exchange->requests, done, exchange->indices,
                         exchange->statuses);
    for (int i = 0; code == CGX_MPI_SUCCESS && i < *done; i++)
        code = advance_transfer(exchange, (size_t)exchange->indices[i],
                                exchange->statuses + (size_t)i * mpi->status_bytes);
    if (code != CGX_MPI_SUCCESS)
        return cgx_mpi_error_of(mpi, code, *done, exchange->statuses);
    if (*done > 0)
        close_gaps(exchange);
    return code;
}

/* ---- the exchange ---- */

static enum cgx_status status_of(struct cgx_exchange *exchange, int code)
{
    if (code == CGX_MPI_SUCCESS)
        return CGX_OK;
    exchange->code = code;
    cgx_mpi_log_error(exchange->transports.mpi, "the exchange of compressed data failed in MPI",
                      code);
    return CGX_ERR_MPI;
}

/* Revokes COMM if the program has revoked the communicator that COMM serves; returns MPI's code for
 * COMM. MPI does not know that the two belong together, so this rank would wait forever for ranks
 * that have given up. */
static int query_revoked(const struct cgx_transports *by)
{
    if (is_revoked(by->mpi, by->caller))
        by->mpi->Comm_revoke(by->comm);
    return probe_failure(by);
}

enum cgx_status cgx_exchange_begin(struct cgx_exchange *exchange,
                                   const struct cgx_transports *transports,
                                   struct cgx_transfer *transfers, size_t ntransfers)
{
    int code;

    if (ntransfers > exchange->most || transports->pace.fragment == 0)
        return CGX_ERR_INVALID;
    exchange->transports = *transports;
    exchange->transfers = transfers;
    exchange->ntransfers = ntransfers;
    exchange->nfragments = 0;
    exchange->idle = 0;
    exchange->stall = (struct cgx_stall){0};
    for (size_t t = 0; t < ntransfers; t++) {
        transfers[t].posted = 0;
        transfers[t].started = false;
        if (transfers[t].has_variable_size && transfers[t].direction == CGX_TRANSFER_SEND)
            transfers[t].bytes = transfers[t].filled;
        if (transfers[t].direction == CGX_TRANSFER_RECEIVE)
            transfers[t].filled = 0;
    }
    code = is_revoked(transports->mpi, transports->caller) ? query_revoked(transports)
                                                           : CGX_MPI_SUCCESS;
    if (code != CGX_MPI_SUCCESS)
        return status_of(exchange, code);
    cgx_exchange_post_shared(transports, transfers, ntransfers);
    code = post_first(exchange, CGX_TRANSFER_RECEIVE);
    if (code == CGX_MPI_SUCCESS)
        code = post_first(exchange, CGX_TRANSFER_SEND);
    return status_of(exchange, code);
}

enum cgx_status cgx_exchange_poll(struct cgx_exchange *exchange, bool *complete)
{
    const struct cgx_transports *by = &exchange->transports;
    size_t left;
    size_t shared = cgx_exchange_poll_shared(by, exchange->transfers, exchange->ntransfers, &left);
    int done = 0, code = CGX_MPI_SUCCESS;

    if (exchange->nfragments > 0)
        code = advance_fragments(exchange, &done);
    else if (left > 0 && shared == 0)
        /* MPI must progress. Testsome without requests may not poll, nor may a probe that finds a
         * message, such as one of the next round. */
        code = probe_failure(by);
    exchange->idle++;
    if (shared > 0 || done > 0) {
        exchange->idle = 0;
        exchange->stall = (struct cgx_stall){0};
    }
    if (exchange->idle % POLLS_BEFORE_QUERY == POLLS_BEFORE_QUERY - 1 && by->mpi->Comm_is_revoked &&
        code == CGX_MPI_SUCCESS)
        code = query_revoked(by);
    *complete = exchange->nfragments == 0 && left == 0;
    return status_of(exchange, code);
}

int cgx_exchange_code(const struct cgx_exchange *exchange)
{
    return exchange->code;
}

/* ---- waiting ---- */

/* Whether a message from or to TRANSFER's peer is incomplete. */
static bool is_under_way(const struct cgx_exchange *exchange, const struct cgx_transfer *transfer)
{
    bool found = transfer->pending;

    for (size_t slot = 0; slot < exchange->nfragments && !found; slot++)
        found = exchange->owners[slot] == transfer;
    return found;
}

static void warn_of_stall(const struct cgx_exchange *exchange)
{
    int peers[MOST_NAMED];
    size_t npeers = 0, length;
    char text[16 * (MOST_NAMED + 1)];

    for (size_t t = 0; t < exchange->ntransfers && npeers <= MOST_NAMED; t++) {
        const struct cgx_transfer *transfer = &exchange->transfers[t];
        size_t known = 0;

        while (known < npeers && peers[known] != transfer->peer)
            known++;
        if (known < npeers || !is_under_way(exchange, transfer))
            continue;
        if (npeers < MOST_NAMED)
            peers[npeers] = transfer->peer;
        npeers++;
    }
    length = (size_t)snprintf(text, sizeof text, npeers == 1 ? "rank" : "ranks");
    for (size_t i = 0; i < npeers && i < MOST_NAMED; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s %d", i > 0 ? "," : "",
                                   peers[i]);
    if (npeers > MOST_NAMED)
        snprintf(text + length, sizeof text - length, " and more");
    cgx_stall_warn(&exchange->stall, npeers > 0 ? text : "other ranks");
}

void cgx_exchange_rest(struct cgx_exchange *exchange)
{
    static const struct timespec nap = {.tv_sec = 0, .tv_nsec = SLEEP_NANOSECONDS};
    bool has_processors = exchange->transports.pace.has_processors;

    if (exchange->idle > POLLS_BEFORE_SLEEP && exchange->idle % POLLS_BEFORE_LOOK == 0 &&
        cgx_stall_due(&exchange->stall))
        warn_of_stall(exchange);
    if (exchange->idle > POLLS_BEFORE_SLEEP && !has_processors)
        nanosleep(&nap, NULL);
    else if (exchange->idle > (has_processors && exchange->nfragments == 0 ? POLLS_BEFORE_LATE_YIELD
                                                                           : POLLS_BEFORE_YIELD))
        sched_yield();
}
