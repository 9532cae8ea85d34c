/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/exchange.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define FRAGMENT_BYTES 16384
#define WINDOW 8 /* fragments of one transfer that are under way */

/* Polls without progress before the processor is given away, and before the rank sleeps. */
#define POLLS_BEFORE_YIELD 32
#define POLLS_BEFORE_SLEEP 512
#define SLEEP_NANOSECONDS 20000

/* Slot t * WINDOW + i is the ith of transfer t. */
struct cgx_exchange {
    size_t transfers;
    MPI_Request *requests;
    MPI_Status *statuses;
    int *indices;
};

struct cgx_exchange *cgx_exchange_create(size_t transfers)
{
    struct cgx_exchange *exchange = calloc(1, sizeof *exchange);
    size_t slots = transfers * WINDOW;

    if (!exchange)
        return NULL;
    exchange->transfers = transfers;
    exchange->requests = calloc(slots, sizeof *exchange->requests);
    exchange->statuses = calloc(slots, sizeof *exchange->statuses);
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

struct posting {
    const struct cgx_mpi *mpi;
    MPI_Comm comm;
    int tag;
};

/* The next fragment of TRANSFER goes into REQUEST. */
static int post_fragment(const struct posting *to, struct cgx_transfer *transfer,
                         MPI_Request *request)
{
    size_t begin = transfer->posted;
    size_t end =
        begin + FRAGMENT_BYTES < transfer->bytes ? begin + FRAGMENT_BYTES : transfer->bytes;

    transfer->posted = end;
    if (transfer->direction == CGX_TRANSFER_RECEIVE)
        return to->mpi->Irecv(transfer->data + begin, (int)(end - begin), MPI_BYTE, transfer->peer,
                              to->tag, to->comm, request);
    if (end > transfer->filled)
        end = transfer->filled > begin ? transfer->filled : begin;
    return to->mpi->Isend(transfer->data + begin, (int)(end - begin), MPI_BYTE, transfer->peer,
                          to->tag, to->comm, request);
}

static int post_first(struct cgx_exchange *exchange, const struct posting *to,
                      struct cgx_transfer *transfers, size_t ntransfers, int direction)
{
    for (size_t t = 0; t < ntransfers; t++) {
        MPI_Request *slot = exchange->requests + t * WINDOW;

        if ((int)transfers[t].direction != direction)
            continue;
        for (int i = 0; i < WINDOW && transfers[t].posted < transfers[t].bytes; i++) {
            int code = post_fragment(to, &transfers[t], &slot[i]);

            if (code != MPI_SUCCESS)
                return code;
        }
    }
    return MPI_SUCCESS;
}

static void wait_a_little(unsigned idle_polls)
{
    static const struct timespec nap = {.tv_sec = 0, .tv_nsec = SLEEP_NANOSECONDS};

    if (idle_polls > POLLS_BEFORE_SLEEP)
        nanosleep(&nap, NULL);
    else if (idle_polls > POLLS_BEFORE_YIELD)
        sched_yield();
}

/* Takes note of the completed slot INDEX and posts the next fragment into it. */
static int advance(struct cgx_exchange *exchange, const struct posting *to,
                   struct cgx_transfer *transfer, int index, MPI_Status *status)
{
    int count, code;

    if (transfer->direction == CGX_TRANSFER_RECEIVE) {
        code = to->mpi->Get_count(status, MPI_BYTE, &count);
        if (code != MPI_SUCCESS)
            return code;
        transfer->filled += (size_t)count;
    }
    if (transfer->posted == transfer->bytes)
        return MPI_SUCCESS;
    return post_fragment(to, transfer, &exchange->requests[index]);
}

static int complete_all(struct cgx_exchange *exchange, const struct posting *to,
                        struct cgx_transfer *transfers, size_t ntransfers)
{
    unsigned idle = 0;

    for (;;) {
        int done;
        int code = to->mpi->Testsome((int)(ntransfers * WINDOW), exchange->requests, &done,
                                     exchange->indices, exchange->statuses);

        if (code != MPI_SUCCESS)
            return code;
        if (done == MPI_UNDEFINED)
            return MPI_SUCCESS;
        if (done == 0)
            wait_a_little(++idle);
        else
            idle = 0;
        for (int i = 0; i < done; i++) {
            int index = exchange->indices[i];

            code = advance(exchange, to, &transfers[index / WINDOW], index, &exchange->statuses[i]);
            if (code != MPI_SUCCESS)
                return code;
        }
    }
}

enum cgx_status cgx_exchange_run(struct cgx_exchange *exchange, const struct cgx_mpi *mpi,
                                 MPI_Comm comm, int tag, struct cgx_transfer *transfers,
                                 size_t ntransfers)
{
    const struct posting to = {.mpi = mpi, .comm = comm, .tag = tag};
    int code;

    if (ntransfers > exchange->transfers)
        return CGX_ERR_INVALID;
    for (size_t i = 0; i < ntransfers * WINDOW; i++)
        exchange->requests[i] = MPI_REQUEST_NULL;
    for (size_t t = 0; t < ntransfers; t++) {
        transfers[t].posted = 0;
        if (transfers[t].direction == CGX_TRANSFER_RECEIVE)
            transfers[t].filled = 0;
    }
    code = post_first(exchange, &to, transfers, ntransfers, CGX_TRANSFER_RECEIVE);
    if (code == MPI_SUCCESS)
        code = post_first(exchange, &to, transfers, ntransfers, CGX_TRANSFER_SEND);
    if (code == MPI_SUCCESS)
        code = complete_all(exchange, &to, transfers, ntransfers);
    if (code == MPI_SUCCESS)
        return CGX_OK;
    cgx_mpi_log_error(mpi, "the exchange of compressed data failed in MPI", code);
    return CGX_ERR_MPI;
}
