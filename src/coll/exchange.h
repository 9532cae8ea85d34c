/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Moves all messages of an exchange at once. MPI messages are cut into fragments, a few of which
 * are under way at a time. Waiting yields the processor, and also sleeps if ranks share processors.
 * With fragments below the MPI library's eager limit this reaches 1.1 times the wire limit on slow
 * links; whole messages with MPI_Waitall take twice as long. Ranks of a node may share memory
 * instead (shm.h). Every wait polls MPI, so that the caller's own requests progress, and checks now
 * and then whether the program has revoked its communicator. */
#ifndef CGX_COLL_EXCHANGE_H
#define CGX_COLL_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "coll/program.h"
#include "mpi/table.h"
#include "util/status.h"

struct cgx_shm;
struct cgx_shm_message;

/* One message to or from a peer. Both sides know its maximum size. A sender may omit the end, which
 * need not be in its memory; the fragments are then short or empty but still sent. The receiver
 * finds the size in FILLED. */
struct cgx_transfer {
    int peer;
    /* RELEASE: no message is sent; the transfer ends when the peer has released all that it was
     * sent (shm.h). */
    enum { CGX_TRANSFER_SEND, CGX_TRANSFER_RECEIVE, CGX_TRANSFER_RELEASE } direction;
    unsigned char *data;
    size_t bytes;           /* maximum, as scheduled */
    size_t filled;          /* bytes to send, or the bytes that were received */
    struct cgx_block block; /* the parts that the message holds */
    /* The message begins with a message header and has only as many fragments as the bytes sent
     * need. Both sides must agree on this. */
    bool has_variable_size;
    /* State of the exchange: */
    size_t posted; /* bytes covered by posted fragments */
    bool started;  /* the first fragment of a message of variable size has arrived */
    bool pending;  /* goes through shared memory and is not complete */
    bool pulled;   /* copied from the sender's device, not yet acknowledged */
};

/* Takes messages of local peers from their segments. */
struct cgx_taker {
    void *state;
    /* Copies what is needed of MESSAGE, of which FILLED bytes are expected, to TRANSFER's data.
     * False: a device has begun to. */
    bool (*take)(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message);
    /* Waits until devices have done what take has begun. */
    void (*settle)(void *state);
};

/* How MPI messages are cut, and how a rank waits. */
struct cgx_pace {
    size_t fragment;     /* bytes of a fragment; the same on both sides of a message */
    bool has_processors; /* each rank of this machine has a processor of its own (topo/claims.h) */
};

/* The transports between ranks, as they are connected. */
struct cgx_transports {
    const struct cgx_mpi *mpi;
    cgx_mpi_comm comm;
    cgx_mpi_comm caller;    /* the program's communicator that COMM serves */
    int tag;                /* tag of all messages; tag + CGX_TAG_NEVER is never used */
    struct cgx_pace pace;   /* how to cut messages and to wait; fragment size equal on all ranks */
    struct cgx_shm *shm;    /* reaches the peers of the node; NULL: all messages go through MPI */
    struct cgx_taker taker; /* of messages through SHM */
};
#define CGX_TAG_NEVER 1

/* Request slots for one exchange at a time, of a limited number of transfers; opaque. */
struct cgx_exchange;
struct cgx_exchange *cgx_exchange_create(size_t transfers); /* NULL if memory is short */
void cgx_exchange_free(struct cgx_exchange *exchange);

/* Begins TRANSFERS, which must stay in place until complete. Two messages from one rank to another
 * must be in different exchanges. CGX_ERR_MPI, here and below: requests may still be active, so
 * EXCHANGE and the messages must never be freed or reused. */
enum cgx_status cgx_exchange_begin(struct cgx_exchange *exchange,
                                   const struct cgx_transports *transports,
                                   struct cgx_transfer *transfers, size_t ntransfers);

/* Progresses the exchange; *COMPLETE: all transfers are complete. */
enum cgx_status cgx_exchange_poll(struct cgx_exchange *exchange, bool *complete);

/* MPI's error code after CGX_ERR_MPI. */
int cgx_exchange_code(const struct cgx_exchange *exchange);

/* To be called between polls by a caller with nothing else to do: yields the processor, or sleeps,
 * if nothing has arrived for a while, and warns of a stall (mpi/stall.h). */
void cgx_exchange_rest(struct cgx_exchange *exchange);

/* ---- shared memory (exchange_shared.c) ---- */

/* Whether messages between this rank and PEER go through shared memory. */
bool cgx_exchange_shares(const struct cgx_transports *transports, int peer);

/* Marks the transfers that go through shared memory as pending and offers messages to be sent. */
void cgx_exchange_post_shared(const struct cgx_transports *transports,
                              struct cgx_transfer *transfers, size_t ntransfers);

/* Advances the transfers that can advance and returns their number; *LEFT: those still pending. */
size_t cgx_exchange_poll_shared(const struct cgx_transports *transports,
                                struct cgx_transfer *transfers, size_t ntransfers, size_t *left);

#endif
