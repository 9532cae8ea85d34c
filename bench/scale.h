/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One compressed all-reduce of many ranks in one process: src/coll is polled for each rank over a
 * network of discrete events and with a codec that only takes time. scale_network.c has the
 * network, scale_mpi.c MPI over it, scale_codec.c the codec, scale_run.c the ranks.
 *
 * The ranks of some nodes are run; all others are ghosts, which send what their models, run ranks,
 * do: a message leaves a ghost when its model sends to the peer at the same distance. That is exact
 * as far as all ranks do the same. Where all ranks are run there are no ghosts. */
#ifndef CGX_BENCH_SCALE_H
#define CGX_BENCH_SCALE_H

#include "coll/coll.h"

/* In seconds and bytes. */
struct scale_costs {
    double rate; /* of an interface, which the ranks of a node share, in each direction, per s */
    double latency;
    double burst;                     /* bytes that an interface sends at once after a rest */
    double local_rate, local_latency; /* of a rank to its local peers */
    double eager;                     /* bytes of the largest message that is not announced first */
    double send, receive;             /* of a processor, for a message */
    double copy;                      /* and for a byte of it */
    double poll, slot;                /* for a Testsome, and for each request that it is given */
    double encode, decode, sum;       /* bytes of elements per s; sum: of each of its sources */
    double operation;                 /* for each operation of the codec */
    bool queued;                      /* they run beside the processor, as those of a device do */
};

struct scale_call {
    unsigned ranks, members; /* of the job, and of a node */
    unsigned run;            /* nodes whose ranks are run; 0: all */
    enum cgx_reduction inter;
    struct cgx_network network; /* as the library takes it to be */
    bool leaders;
    size_t elements;
    unsigned bits;
    size_t staging, fragment;
    struct scale_costs costs;
};

/* Of the ranks that are run. */
struct scale_result {
    double seconds;           /* until the last is done */
    size_t staging;           /* bytes of a rank */
    unsigned slices, rows;    /* of the call */
    uint64_t messages, empty; /* of the rank that sends most; without any payload */
    uint64_t fragments;       /* likewise */
    uint64_t bytes;           /* likewise */
    uint64_t all_fragments, all_bytes;
    uint64_t polls, polled; /* of the rank that polls most: Testsomes, and their requests */
};

/* False: memory is short, or the ranks came to no end. */
bool scale_run(const struct scale_call *call, struct scale_result *result);

#endif
