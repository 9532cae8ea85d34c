/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Messages between ranks, and the ways that they go (exchange.h). */
#ifndef CGX_COLL_TRANSFER_H
#define CGX_COLL_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi/table.h"

struct cgx_shm;
struct cgx_shm_message;
struct cgx_block;

/* One message to or from a peer. Both sides know its maximum size. A sender may omit the end, which
 * need not be in its memory; the fragments are then short or empty but still sent. The receiver
 * finds the size in FILLED. */
struct cgx_transfer {
    int peer;
    /* RELEASE: there is no message; the peer comes to release all that it was sent (shm.h). */
    enum { CGX_TRANSFER_SEND, CGX_TRANSFER_RECEIVE, CGX_TRANSFER_RELEASE } direction;
    unsigned char *data;
    size_t bytes;                  /* maximum, as scheduled */
    size_t filled;                 /* send: bytes to send; receive: set to the bytes received */
    const struct cgx_block *block; /* for the puller and the copier */
    /* It begins with a message header and has only as many fragments as the bytes sent need. Both
     * sides must agree on this. */
    bool varies;
    /* State of the exchange: */
    size_t posted; /* bytes covered by posted fragments */
    bool started;  /* the first fragment of a message that varies has arrived */
    bool pending;  /* incomplete, through shared memory */
    bool pulled;   /* copied from the sender's device, not yet acknowledged */
};

/* Receives messages of local peers whose payloads are in their devices' memory. */
struct cgx_puller {
    void *state;
    /* Begins to copy MESSAGE, of which FILLED bytes are expected, to its destination. NULL: the
     * host copies from the shared segment. */
    void (*pull)(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message);
    /* Waits until all copies that were begun are done. */
    void (*settle)(void *state);
};

/* How MPI messages are cut, and how a rank waits. */
struct cgx_pace {
    size_t fragment;     /* bytes; the same on both sides of a message */
    bool has_processors; /* each rank of this machine has its own processor (topo/claims.h) */
};

/* Copies the received bytes of TRANSFER (filled; it may skip some) from FROM, in the sender's
 * segment, to their destination. */
struct cgx_copier {
    const void *state;
    void (*copy)(const void *state, const struct cgx_transfer *transfer, const unsigned char *from);
};

/* The transports between ranks. */
struct cgx_transports {
    const struct cgx_mpi *mpi;
    cgx_mpi_comm comm;
    cgx_mpi_comm caller; /* the program's communicator that COMM serves */
    int tag;             /* of all messages; tag + CGX_TAG_NEVER is never used */
    struct cgx_pace pace;
    struct cgx_shm *shm; /* for the peers that it reaches; or NULL */
    struct cgx_puller puller;
    struct cgx_copier copier; /* without a puller; NULL: copies all bytes */
};
#define CGX_TAG_NEVER 1

#endif
