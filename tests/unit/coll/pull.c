/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A message whose payload goes from device to device is its sender's until it has been copied. */

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "coll/exchange.h"
#include "coll/shm.h"
#include "lib/tap.h"
#include "unit/lib/scene.h"

enum { RANKS = 3, AT = 4096, BYTES = 1000 };

static struct cgx_nodes *nodes;
static struct cgx_shared segments[RANKS];
static struct cgx_shared_handle handles[RANKS];
static atomic_int offered, attached, sent; /* ranks that have */

/* What rank 0 finds. */
static struct {
    unsigned pulls, settled;
    bool is_right, too_early;
} found = {.is_right = true};

static void wait_for(atomic_int *ranks, int count)
{
    while (atomic_load(ranks) < count)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static unsigned char *staging(unsigned rank)
{
    return segments[rank].memory + segments[rank].front;
}

/* Ranks 1 and 2 send from different places. */
static size_t place(unsigned rank)
{
    return AT * rank + 16;
}

static bool take(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message)
{
    unsigned rank = (unsigned)transfer->peer;

    (void)state;
    found.pulls++;
    found.is_right = found.is_right && message->offset == place(rank) && message->bytes == BYTES &&
                     transfer->filled == BYTES && message->data[0] == rank &&
                     message->data[BYTES - 1] == rank;
    return false;
}

/* Long enough for a sender that goes on to be seen. */
static void settle(void *state)
{
    (void)state;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    found.settled++;
    found.too_early = atomic_load(&sent) > 0;
}

static void run(void *context, unsigned rank)
{
    static const struct cgx_taker taker = {.take = take, .settle = settle};
    struct cgx_exchange *exchange = cgx_exchange_create(2);
    struct cgx_shm *shm = cgx_shm_create(nodes, rank);
    struct cgx_transports ways = {
        .mpi = &loopback_mpi, .pace = {.fragment = BYTES}, .shm = shm, .taker = taker};
    static unsigned char received[2][BYTES];
    struct cgx_transfer transfers[2] = {0};

    (void)context;
    if (cgx_shared_create(RANKS, (size_t)AT * (RANKS + 1), &segments[rank]) != CGX_OK)
        bail_out("no shared memory");
    handles[rank] = cgx_shared_handle(&segments[rank]);
    atomic_fetch_add(&offered, 1);
    wait_for(&offered, RANKS);
    if (cgx_shm_attach(shm, &segments[rank], handles, sizeof *handles) != CGX_OK)
        bail_out("shared memory cannot be attached to");
    atomic_fetch_add(&attached, 1);
    wait_for(&attached, RANKS);
    for (unsigned i = 0; i < 2; i++)
        transfers[i] = (struct cgx_transfer){.peer = (int)i + 1,
                                             .direction = CGX_TRANSFER_RECEIVE,
                                             .data = received[i],
                                             .bytes = BYTES};
    if (rank > 0) {
        memset(staging(rank) + place(rank), (int)rank, BYTES);
        transfers[0] = (struct cgx_transfer){.direction = CGX_TRANSFER_SEND,
                                             .data = staging(rank) + place(rank),
                                             .bytes = BYTES,
                                             .filled = BYTES};
    }
    if (loopback_exchange(exchange, &ways, transfers, rank == 0 ? 2 : 1) != CGX_OK)
        bail_out("the exchange failed");
    if (rank > 0)
        atomic_fetch_add(&sent, 1);
    wait_for(&sent, RANKS - 1);
    cgx_shm_free(shm);
    cgx_exchange_free(exchange);
}

int main(void)
{
    static const int keys[RANKS] = {0};

    nodes = cgx_nodes_create(keys, RANKS);
    loopback_run(RANKS, run, NULL);
    ok(found.pulls == 2 && found.is_right, "each message is pulled from where its sender has it");
    ok(found.settled == 1, "what was pulled is waited for once, with all that comes");
    ok(!found.too_early, "before that no sender goes on");
    for (unsigned rank = 0; rank < RANKS; rank++)
        cgx_shared_free(&segments[rank]);
    cgx_nodes_free(nodes);
    return done_testing();
}
