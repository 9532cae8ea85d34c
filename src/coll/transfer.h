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

/* One message to or from a peer; its most bytes are known to both sides. A sender may leave out the
 * end, which need not be in its memory (fragments then go short or empty, but they go); the
 * receiver sees that in FILLED. */
struct cgx_transfer {
    int peer;
    /* RELEASE: there is no message; the peer comes to release all that it was sent (shm.h). */
    enum { CGX_TRANSFER_SEND, CGX_TRANSFER_RECEIVE, CGX_TRANSFER_RELEASE } direction;
    unsigned char *data;
    size_t bytes;                  /* of the message as scheduled */
    size_t filled;                 /* send: bytes to be sent; receive: set to the bytes that came */
    const struct cgx_block *block; /* for who pulls or copies it */
    /* It has as many fragments as what is sent of it needs, which begins with a message's header;
     * the same on both sides. */
    bool varies;
    /* State of the exchange. */
    size_t posted; /* bytes of the message whose fragments have been posted */
    bool started;  /* the first fragment of one that varies has come */
    bool pending;  /* it goes through shared memory, and is not complete */
    bool pulled;   /* copied from the sender's device; the sender is not yet acknowledged */
};

/* Takes the messages of local peers, whose payloads are in the memory of their devices. */
struct cgx_puller {
    void *state;
    /* Begins to take MESSAGE, of which FILLED bytes are expected, to where it belongs. NULL: the
     * host copies what is in the segment. */
    void (*pull)(void *state, const struct cgx_transfer *transfer,
                 const struct cgx_shm_message *message);
    /* Until all that was begun is done. */
    void (*settle)(void *state);
};

/* How messages go through MPI, and how a rank waits for any. */
struct cgx_pace {
    size_t fragment;     /* bytes; the same on both sides of a message */
    bool has_processors; /* every rank of this machine has a processor of its own (topo/claims.h) */
};

/* Copies what came of TRANSFER, whose sender has it at FROM in its segment, to where it belongs:
 * filled bytes, of which some may be left out. */
struct cgx_copier {
    const void *state;
    void (*copy)(const void *state, const struct cgx_transfer *transfer, const unsigned char *from);
};

/* The transports between ranks. */
struct cgx_transports {
    const struct cgx_mpi *mpi;
    cgx_mpi_comm comm;
    cgx_mpi_comm caller; /* the program's communicator that it is used for */
    int tag;             /* of all messages; no message has the tag CGX_TAG_NEVER above it */
    struct cgx_pace pace;
    struct cgx_shm *shm; /* for those that it reaches, whose messages are in its segment; or NULL */
    struct cgx_puller puller;
    struct cgx_copier copier; /* where nothing pulls; NULL: all bytes are copied */
};
#define CGX_TAG_NEVER 1

#endif
