/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Messages in fragments of any size, and how their ranks wait. The functions that give a processor
 * away are wrapped, and count. */

#include "coll/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/format.h"
#include "lib/tap.h"
#include "unit/lib/scene.h"

/* ---- fragments ---- */

enum { RANKS = 3, PEERS = RANKS - 1, MOST_BYTES = (2 << 20) + 5 };

static const size_t fragments[] = {1, 1000, 1024, 16384, 1 << 20, 64 << 20};
#define FRAGMENTS (sizeof fragments / sizeof fragments[0])

/* Transfers, for which each has one fragment under way at a time. */
#define MANY 4096

/* Every rank sends BYTES to each other, of which it leaves out the end behind FILLED. */
struct sending {
    size_t fragment, bytes, filled;
    bool varies;         /* nothing is sent for the end; a header says how much is */
    size_t most;         /* transfers that the exchange is made for */
    bool arrived[RANKS]; /* what was to come, and nothing behind it */
    bool cut[RANKS];     /* what was sent is in as many fragments as there are, none too long */
};

static _Thread_local size_t sent, longest;

static int counted_send(const void *data, int count, cgx_mpi_datatype type, int to, int tag,
                        cgx_mpi_comm comm, void *request)
{
    sent++;
    longest = (size_t)count > longest ? (size_t)count : longest;
    return loopback_mpi.Isend(data, count, type, to, tag, comm, request);
}

static unsigned char byte_of(unsigned from, unsigned to, size_t i)
{
    return (unsigned char)(1 + (i * 7 + from * 31 + to * 101) % 251);
}

static void *need(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);

    if (!memory)
        bail_out("memory is short");
    return memory;
}

static bool is_right(const struct sending *scene, const struct cgx_transfer *transfer,
                     unsigned rank)
{
    bool right = transfer->filled == scene->filled;

    for (size_t i = scene->varies ? CGX_MESSAGE_HEADER_BYTES : 0; i < scene->bytes; i++)
        right = right && transfer->data[i] ==
                             (i < scene->filled ? byte_of((unsigned)transfer->peer, rank, i) : 0);
    return right;
}

static void run_rank(void *context, unsigned rank)
{
    struct sending *scene = context;
    struct cgx_exchange *exchange = cgx_exchange_create(scene->most);
    struct cgx_transfer transfers[2 * PEERS] = {0};
    struct cgx_mpi mpi = loopback_mpi;
    struct cgx_transports ways = {.mpi = &mpi, .pace = {.fragment = scene->fragment}};
    size_t end = scene->varies ? scene->filled : scene->bytes;
    size_t whole = (end + scene->fragment - 1) / scene->fragment;

    mpi.Isend = counted_send;
    sent = longest = 0;
    for (unsigned p = 0; p < PEERS; p++) {
        unsigned peer = (rank + 1 + p) % RANKS;
        struct cgx_transfer *in = &transfers[p], *out = &transfers[PEERS + p];

        *in = (struct cgx_transfer){(int)peer, CGX_TRANSFER_RECEIVE, need(scene->bytes),
                                    .bytes = scene->bytes, .has_variable_size = scene->varies};
        *out = (struct cgx_transfer){(int)peer,
                                     CGX_TRANSFER_SEND,
                                     need(scene->bytes),
                                     .bytes = scene->bytes,
                                     .filled = scene->filled,
                                     .has_variable_size = scene->varies};
        for (size_t i = 0; i < scene->bytes; i++)
            out->data[i] = byte_of(rank, peer, i);
        if (scene->varies)
            cgx_message_write(
                &(struct cgx_message){.bytes = scene->filled - CGX_MESSAGE_HEADER_BYTES},
                out->data);
    }
    if (!exchange || loopback_exchange(exchange, &ways, transfers, 2 * PEERS) != CGX_OK)
        bail_out("the exchange failed");
    scene->arrived[rank] = true;
    for (unsigned t = 0; t < 2 * PEERS; t++) {
        scene->arrived[rank] =
            scene->arrived[rank] && (t >= PEERS || is_right(scene, &transfers[t], rank));
        free(transfers[t].data);
    }
    scene->cut[rank] = sent == PEERS * whole && longest <= scene->fragment;
    cgx_exchange_free(exchange);
}

static void test_fragments(size_t fragment)
{
    size_t most = fragment < 4096 ? 4099 : 3 * fragment + 5;
    const size_t sizes[] = {0, 1, fragment - 1, fragment, fragment + 1, 8 * 1024, most};
    bool arrived = true, cut = true;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t bytes = sizes[s] < MOST_BYTES ? sizes[s] : MOST_BYTES;
        const size_t fills[] = {bytes, bytes / 2, 0};

        for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
            struct sending scene = {.fragment = fragment,
                                    .bytes = bytes,
                                    .filled = fills[f],
                                    .most = (s + f) % 2 ? 2 * PEERS : MANY};

            loopback_run(RANKS, run_rank, &scene);
            for (unsigned r = 0; r < RANKS; r++) {
                arrived = arrived && scene.arrived[r];
                cut = cut && scene.cut[r];
            }
        }
    }
    ok(arrived, "fragments of %zu bytes: messages arrive, and nothing behind them", fragment);
    ok(cut, "fragments of %zu bytes: there are as many as it takes", fragment);
}

static void test_varying(void)
{
    static const size_t fills[] = {CGX_MESSAGE_HEADER_BYTES, 1024, 1025, 12345, 100000};
    bool right = true;

    for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
        struct sending scene = {1024, 100000, fills[f], true, .most = 2 * PEERS};

        loopback_run(RANKS, run_rank, &scene);
        for (unsigned r = 0; r < RANKS; r++)
            right = right && scene.arrived[r] && scene.cut[r];
    }
    ok(right, "messages that vary have as many fragments as they say");
}

/* ---- waiting ---- */

static unsigned polls, left, naps, yields;

WRAPPED(int, nanosleep, const struct timespec *time, struct timespec *rest)
{
    (void)time, (void)rest;
    naps++;
    return 0;
}

WRAPPED(int, sched_yield, void)
{
    yields++;
    return 0;
}

static int posting(void *data, int count, cgx_mpi_datatype type, int from, int tag,
                   cgx_mpi_comm comm, void *request)
{
    (void)data, (void)count, (void)type, (void)from, (void)tag, (void)comm;
    *(int *)request = 1;
    return CGX_MPI_SUCCESS;
}

/* The message has come when LEFT polls are over. */
static int polling(int count, void *requests, int *done, int *indices, void *statuses)
{
    int *request = requests;

    (void)count, (void)statuses;
    polls++;
    *done = 0;
    if (left == 0 || --left == 0) {
        *done = 1;
        indices[0] = 0;
        request[0] = 0;
    }
    return CGX_MPI_SUCCESS;
}

static int counting(const void *status, cgx_mpi_datatype type, int *count)
{
    (void)status, (void)type;
    *count = 1;
    return CGX_MPI_SUCCESS;
}

/* For a message that comes with the LAST poll. */
static void wait_for(unsigned last, bool has_processors)
{
    struct cgx_mpi mpi = loopback_mpi;
    const struct cgx_transports ways = {
        .mpi = &mpi, .pace = {.fragment = 1024, .has_processors = has_processors}};
    struct cgx_exchange *exchange = cgx_exchange_create(1);
    unsigned char data[1];
    struct cgx_transfer transfer = {.direction = CGX_TRANSFER_RECEIVE, .data = data, .bytes = 1};

    mpi.Irecv = posting;
    mpi.Testsome = polling;
    mpi.Get_count = counting;
    polls = naps = yields = 0;
    left = last;
    if (!exchange || loopback_exchange(exchange, &ways, &transfer, 1) != CGX_OK)
        bail_out("the exchange failed");
    diag("%u polls, %u naps, %u times given away", polls, naps, yields);
    cgx_exchange_free(exchange);
}

static void test_waiting(void)
{
    wait_for(10, false);
    ok(naps == 0 && yields == 0, "a message that comes soon is polled for");
    wait_for(300, false);
    ok(naps == 0 && yields > 200, "for one that takes longer the processor is given away");
    wait_for(5000, false);
    ok(naps > 4000 && yields < 600 && polls >= 5000,
       "a rank that shares its processor then sleeps, and polls after each time");
    wait_for(5000, true);
    ok(naps == 0 && yields > 4900 && polls >= 5000, "one that has its own never sleeps");
}

/* A pace that nobody has set. */
static void test_no_pace(void)
{
    const struct cgx_transports ways = {.mpi = &loopback_mpi};
    struct cgx_exchange *exchange = cgx_exchange_create(1);
    struct cgx_transfer transfer = {0};

    ok(exchange && loopback_exchange(exchange, &ways, &transfer, 1) == CGX_ERR_INVALID,
       "fragments of no bytes are refused");
    cgx_exchange_free(exchange);
}

int main(void)
{
    for (size_t i = 0; i < FRAGMENTS; i++)
        test_fragments(fragments[i]);
    test_varying();
    test_waiting();
    test_no_pace();
    return done_testing();
}
