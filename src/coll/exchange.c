/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/exchange.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/shm.h"

#define WINDOW 8 /* fragments of one transfer that are under way */

/* Polls without progress before the processor is given away, and before the rank sleeps if it
 * shares one. */
#define POLLS_BEFORE_YIELD 32
#define POLLS_BEFORE_SLEEP 512
#define SLEEP_NANOSECONDS 20000

/* Slot t * WINDOW + i is the ith of transfer t. */
struct cgx_exchange {
    size_t transfers;
    unsigned char *requests, *statuses; /* the MPI's own */
    int *indices;
};

struct cgx_exchange *cgx_exchange_create(size_t transfers)
{
    struct cgx_exchange *exchange = calloc(1, sizeof *exchange);
    size_t slots = transfers * WINDOW;

    if (!exchange)
        return NULL;
    exchange->transfers = transfers;
    exchange->requests = calloc(slots, CGX_MPI_REQUEST_MOST);
    exchange->statuses = calloc(slots, CGX_MPI_STATUS_MOST);
    exchange->indices = calloc(slots, sizeof *exchange->indices);
    if (!exchange->requests || !exchange->statuses || !exchange->indices) {
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
    free(exchange->statuses);
    free(exchange->indices);
    free(exchange);
}

#define TAG 0
#define TAG_NEVER 1 /* of no message */

static void *slot(struct cgx_exchange *exchange, const struct cgx_transports *transports,
                  size_t index)
{
    return exchange->requests + index * transports->mpi->request_bytes;
}

/* The next fragment of TRANSFER goes into REQUEST. */
static int post_fragment(const struct cgx_transports *transports, struct cgx_transfer *transfer,
                         void *request)
{
    size_t begin = transfer->posted, left = transfer->bytes - begin;
    size_t end = begin + (left < transports->pace.fragment ? left : transports->pace.fragment);

    transfer->posted = end;
    if (transfer->direction == CGX_TRANSFER_RECEIVE)
        return transports->mpi->Irecv(transfer->data + begin, (int)(end - begin),
                                      transports->mpi->BYTE, transfer->peer, TAG, transports->comm,
                                      request);
    if (end > transfer->filled)
        end = transfer->filled > begin ? transfer->filled : begin;
    return transports->mpi->Isend(transfer->data + begin, (int)(end - begin), transports->mpi->BYTE,
                                  transfer->peer, TAG, transports->comm, request);
}

static int post_first(struct cgx_exchange *exchange, const struct cgx_transports *transports,
                      struct cgx_transfer *transfers, size_t ntransfers, int direction)
{
    for (size_t t = 0; t < ntransfers; t++) {
        if ((int)transfers[t].direction != direction || transfers[t].pending)
            continue;
        for (size_t i = 0; i < WINDOW && transfers[t].posted < transfers[t].bytes; i++) {
            int code = post_fragment(transports, &transfers[t],
                                     slot(exchange, transports, t * WINDOW + i));

            if (code != CGX_MPI_SUCCESS)
                return code;
        }
    }
    return CGX_MPI_SUCCESS;
}

static void wait_a_little(const struct cgx_transports *transports, unsigned idle_polls)
{
    static const struct timespec nap = {.tv_sec = 0, .tv_nsec = SLEEP_NANOSECONDS};

    if (idle_polls > POLLS_BEFORE_SLEEP && !transports->pace.roomy)
        nanosleep(&nap, NULL);
    else if (idle_polls > POLLS_BEFORE_YIELD)
        sched_yield();
}

/* Takes note of the completed slot INDEX and posts the next fragment into it. */
static int advance(struct cgx_exchange *exchange, const struct cgx_transports *transports,
                   struct cgx_transfer *transfer, int index, const void *status)
{
    int count, code;

    if (transfer->direction == CGX_TRANSFER_RECEIVE) {
        code = transports->mpi->Get_count(status, transports->mpi->BYTE, &count);
        if (code != CGX_MPI_SUCCESS)
            return code;
        transfer->filled += (size_t)count;
    }
    if (transfer->posted == transfer->bytes)
        return CGX_MPI_SUCCESS;
    return post_fragment(transports, transfer, slot(exchange, transports, (size_t)index));
}

/* ---- shared memory ---- */

/* Sends what goes through shared memory. */
static void begin_shared(const struct cgx_transports *transports, struct cgx_transfer *transfers,
                         size_t ntransfers)
{
    for (size_t t = 0; t < ntransfers; t++) {
        struct cgx_transfer *transfer = &transfers[t];

        transfer->pulled = false;
        transfer->pending =
            transports->shm && cgx_shm_reaches(transports->shm, (unsigned)transfer->peer);
        if (transfer->pending && transfer->direction == CGX_TRANSFER_SEND)
            cgx_shm_send(transports->shm, (unsigned)transfer->peer, transfer->data,
                         transfer->filled);
    }
}

/* Whether the message has come; it has been copied, or PULLED. Its end beyond what is expected is
 * lost. */
static bool receive_shared(const struct cgx_transports *transports, struct cgx_transfer *transfer)
{
    struct cgx_shm_message message;

    if (transfer->pulled || !cgx_shm_peek(transports->shm, (unsigned)transfer->peer, &message))
        return false;
    transfer->filled = message.bytes < transfer->bytes ? message.bytes : transfer->bytes;
    transfer->pulled = transports->puller != NULL;
    if (transports->puller) {
        transports->puller->pull(transports->puller->state, transfer, &message);
        return true;
    }
    memcpy(transfer->data, message.data, transfer->filled);
    cgx_shm_take(transports->shm, (unsigned)transfer->peer);
    transfer->pending = false;
    return true;
}

/* When all that comes has been pulled: lets the senders know. */
static void settle_shared(const struct cgx_transports *transports, struct cgx_transfer *transfers,
                          size_t ntransfers)
{
    transports->puller->settle(transports->puller->state);
    for (size_t t = 0; t < ntransfers; t++) {
        if (!transfers[t].pulled)
            continue;
        cgx_shm_take(transports->shm, (unsigned)transfers[t].peer);
        transfers[t].pulled = transfers[t].pending = false;
    }
}

/* Advances what can be; returns how many, *LEFT: how many are not complete. */
static size_t advance_shared(const struct cgx_transports *transports,
                             struct cgx_transfer *transfers, size_t ntransfers, size_t *left)
{
    size_t done = 0, coming = 0, pulled = 0;

    *left = 0;
    for (size_t t = 0; transports->shm && t < ntransfers; t++) {
        struct cgx_transfer *transfer = &transfers[t];
        bool receives = transfer->direction == CGX_TRANSFER_RECEIVE;

        if (!transfer->pending)
            continue;
        if (receives)
            done += receive_shared(transports, transfer);
        else if (cgx_shm_was_taken(transports->shm, (unsigned)transfer->peer))
            transfer->pending = false, done++;
        pulled += transfer->pulled;
        coming += receives && transfer->pending && !transfer->pulled;
        *left += transfer->pending;
    }
    if (pulled > 0 && coming == 0) {
        settle_shared(transports, transfers, ntransfers);
        *left -= pulled;
        done += pulled;
    }
    return done;
}

/* ---- all of them ---- */

/* Completes what has come of the fragments; *DONE: how many, MPI_UNDEFINED: there are no more. */
static int advance_fragments(struct cgx_exchange *exchange, const struct cgx_transports *transports,
                             struct cgx_transfer *transfers, size_t ntransfers, int *done)
{
    int code = transports->mpi->Testsome((int)(ntransfers * WINDOW), exchange->requests, done,
                                         exchange->indices, exchange->statuses);

    for (int i = 0; code == CGX_MPI_SUCCESS && *done != transports->mpi->UNDEFINED && i < *done;
         i++) {
        int index = exchange->indices[i];

        code = advance(exchange, transports, &transfers[index / WINDOW], index,
                       exchange->statuses + (size_t)i * transports->mpi->status_bytes);
    }
    return code;
}

static int complete_all(struct cgx_exchange *exchange, const struct cgx_transports *transports,
                        struct cgx_transfer *transfers, size_t ntransfers)
{
    bool fragments = true;
    unsigned idle = 0;

    for (;;) {
        size_t left, shared = advance_shared(transports, transfers, ntransfers, &left);
        int done = 0, code = CGX_MPI_SUCCESS, flag;

        if (fragments)
            code = advance_fragments(exchange, transports, transfers, ntransfers, &done);
        else if (left > 0 && shared == 0)
            /* With no request of ours Testsome may not poll, nor may a probe that finds a message,
             * such as one of the next stage. */
            code = transports->mpi->Iprobe(transports->mpi->ANY_SOURCE, TAG_NEVER, transports->comm,
                                           &flag);
        if (code != CGX_MPI_SUCCESS)
            return code;
        fragments = fragments && done != transports->mpi->UNDEFINED;
        if (!fragments && left == 0)
            return CGX_MPI_SUCCESS;
        if (shared > 0 || (fragments && done > 0))
            idle = 0;
        else
            wait_a_little(transports, ++idle);
    }
}

enum cgx_status cgx_exchange_run(struct cgx_exchange *exchange,
                                 const struct cgx_transports *transports,
                                 struct cgx_transfer *transfers, size_t ntransfers)
{
    int code;

    if (ntransfers > exchange->transfers || transports->pace.fragment == 0)
        return CGX_ERR_INVALID;
    transports->mpi->clear_requests(exchange->requests, ntransfers * WINDOW);
    for (size_t t = 0; t < ntransfers; t++) {
        transfers[t].posted = 0;
        if (transfers[t].direction == CGX_TRANSFER_RECEIVE)
            transfers[t].filled = 0;
    }
    begin_shared(transports, transfers, ntransfers);
    code = post_first(exchange, transports, transfers, ntransfers, CGX_TRANSFER_RECEIVE);
    if (code == CGX_MPI_SUCCESS)
        code = post_first(exchange, transports, transfers, ntransfers, CGX_TRANSFER_SEND);
    if (code == CGX_MPI_SUCCESS)
        code = complete_all(exchange, transports, transfers, ntransfers);
    if (code == CGX_MPI_SUCCESS)
        return CGX_OK;
    cgx_mpi_log_error(transports->mpi, "the exchange of compressed data failed in MPI", code);
    return CGX_ERR_MPI;
}
