/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the parts of the simulator (scale.h) share. */
#ifndef CGX_BENCH_SCALE_WORLD_H
#define CGX_BENCH_SCALE_WORLD_H

#include "coll/slice.h"
#include "scale.h"

/* A fragment of a message. KEY is the distance from its sender to its receiver among the members of
 * their stage, AFTER that of the message before it in the exchange, 0 for the first: ghosts send
 * what is in between. */
struct scale_message {
    struct scale_message *next;
    unsigned from, to;
    unsigned seq;  /* of the exchange, as in headers */
    unsigned part; /* which fragment */
    unsigned key, after;
    enum cgx_level_kind level; /* of the stage */
    int request;               /* of its sender, which waits for it to leave; -1: it does not */
    size_t bytes;
    unsigned char header[CGX_MESSAGE_HEADER_BYTES];
};

struct scale_receive {
    struct scale_receive *next;
    int request;
    unsigned char *data;
    size_t bytes;
};

/* What a rank has with a peer. */
struct scale_channel {
    struct scale_message *messages, **last_message; /* that have come */
    struct scale_receive *receives, **last_receive; /* that nothing has come for */
    /* Of the message that is received, in exchange SEQ: what was posted, in how many parts, and how
     * many of these a ghost has sent. */
    unsigned seq, parts, mirrored;
    unsigned char *start, *end;
    /* Parts that a ghost has sent before they were posted: when the last came. */
    unsigned early_seq, early;
    double early_time;
    size_t early_bytes;
    /* Of the message that is sent. */
    unsigned sent_seq, sent_parts, after;
};

struct scale_request {
    bool complete;
    size_t bytes;
};

struct scale_rank {
    unsigned number;
    struct cgx_schedule schedule;
    struct cgx_coll coll;
    struct cgx_scratch scratch;
    struct cgx_backend backend;
    double clock;                    /* until when its processor is at work */
    double device, slots[CGX_SLOTS]; /* until when what is queued takes */
    bool polls;                      /* the next poll is on the way */
    bool complete;                   /* the call is over */
    size_t pending, ready;           /* requests, and those of them that are complete */
    struct scale_request *requests;  /* by handle - 1 */
    int *spare;                      /* handles that are not used */
    size_t nspare;
    struct scale_channel *channels; /* by peer */
    unsigned seq, key;              /* of the last message sent */
    enum cgx_level_kind level;      /* likewise */
    unsigned flushed;               /* the exchange whose sends are over, and 1 */
    struct scale_result counts;
};

struct scale_world {
    const struct scale_call *call;
    struct cgx_scheme scheme;
    struct cgx_schedule schedule; /* of rank 0 */
    struct cgx_nodes *nodes, *flat;
    struct scale_rank **ranks; /* by number; NULL: a ghost */
    struct scale_rank **run;   /* those that are run */
    unsigned nrun;
    unsigned *models;     /* by number: the rank that a ghost does as */
    unsigned char *parts; /* by number: how it takes part */
    bool *has_units;      /* by chunk: it has some in the first slice */
};

/* Of the run that is under way. */
extern struct scale_world scale_world;
extern struct scale_rank *scale_now; /* whose code is run */

static inline unsigned scale_node(unsigned rank)
{
    return rank / scale_world.call->members;
}

/* ---- the network ---- */

bool scale_network_open(void);
void scale_network_close(void);

/* MESSAGE is sent at TIME, or comes from a ghost to the network of its receiver; it is the
 * network's from then on, until it is delivered. */
void scale_network_send(double time, struct scale_message *message);
void scale_network_arrive(double time, struct scale_message *message);

/* RANK is to be polled at TIME. */
void scale_network_poll(double time, struct scale_rank *rank);

/* A MARK passes the network of its sender at TIME, behind what was sent before: ghosts whose
 * distances are between AFTER and KEY send. */
void scale_network_mark(double time, struct scale_message *mark);

/* Lets happen what comes next. False: there is nothing. */
bool scale_network_step(void);

/* ---- called by it ---- */

/* MESSAGE, or a mark, is at TIME where its receiver's network begins. */
void scale_mpi_mirror(double time, const struct scale_message *message);
void scale_mpi_left(double time, struct scale_rank *rank, int request);
void scale_mpi_deliver(double time, struct scale_message *message);
void scale_run_poll(double time, struct scale_rank *rank);

/* ---- MPI and the codec ---- */

extern const struct cgx_mpi scale_mpi;
extern const struct cgx_backend_ops scale_codec;

/* What RANK has sent in this poll was all of the exchange. */
void scale_mpi_flush(struct scale_rank *rank);

void scale_mpi_release(struct scale_rank *rank);

#endif
