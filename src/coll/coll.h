/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The compressed all-reduce of one recurring buffer over a private communicator: runs the
 * schedule's program slice by slice, also when a rank cannot take part. While one slice is on the
 * wire, the next is encoded and the last decoded. Device backends queue that work; the host does it
 * during an exchange and polls the messages meanwhile. No rank ever leaves the schedule: a rank
 * that cannot serve the call sends headers only, with a flag that every round passes on. */
#ifndef CGX_COLL_COLL_H
#define CGX_COLL_COLL_H

#include "coll/exchange.h"
#include "coll/schedule.h"
#include "cuda/device_backend.h"
#include "policy/look.h"
#include "policy/step_size.h"

struct cgx_scratch;

/* What a rank can do for a call; the worst rank counts. */
enum cgx_vote {
    CGX_ABLE,
    CGX_UNSUITED,      /* cannot compress this call because of its type or buffers */
    CGX_DECLINED,      /* can compress no call of this site at present */
    CGX_UNRECOVERABLE, /* cannot do the call uncompressed either */
};

struct cgx_coll {
    /* Without a taker; concurrent calls on one communicator have tags 2 apart. SHM is attached to
     * SCRATCH's segment. */
    struct cgx_transports transports;
    const struct cgx_schedule *schedule;
    struct cgx_backend *backend; /* made for SCRATCH; of the input and the output */
    struct cgx_scratch *scratch; /* this call's own memory, which satisfies the schedule's needs */
    /* How the backend gets payloads of local peers; if DEVICE, then on all ranks. */
    enum cgx_pull pull;
    struct cgx_coding coding;          /* but for the stage and its step size */
    float step_sizes[CGX_STEP_STAGES]; /* of stages, by kind of level */
    const void *input;                 /* may be the same as the output */
    void *output;
    /* This rank's vote; if not CGX_ABLE, its buffers and backends are not used. */
    enum cgx_vote vote;
    /* HAS_HISTORY: all ranks have a history of AGE sums. HISTORY is this rank's, if it is able to
     * serve the call, in memory of the backend. A call that is HELD leaves it as it was; after any
     * other outcome but DONE the history is no longer usable. */
    bool has_history;
    uint32_t age;
    struct cgx_history history;
    bool looks; /* ranks look at their inputs, and may hold the call for what they see */
    /* What is known of this rank's inputs in calls like this one; NULL: it does not look. */
    struct cgx_inputs *inputs;
    struct cgx_input_traits traits; /* traits of this rank's input */
    struct cgx_sketch sketch;       /* signs of this rank's input; set if it looks */
    enum cgx_look look; /* result: what the input shows, or that all peers bring the same */
    double size;        /* result: size of the input; 0: unknown */
    /* Result if the outcome is DONE: what all ranks have quantised uniformly. */
    struct cgx_quantised quantised;
    size_t sent; /* result: bytes of the messages sent */
    struct {
        uint32_t hash;               /* hash of the plan and the history's age, in every message */
        bool begun;                  /* the backend has begun */
        unsigned slice;              /* number of the current slice */
        unsigned started;            /* slices started so far */
        struct cgx_slice *undecoded; /* the last finished slice, if it is still to be decoded */
        struct cgx_meanwhile meanwhile; /* polled by the host codec */
        bool failed;                    /* MPI failed during meanwhile */
        bool lent;                      /* local peers may be decoding this rank's sums in place */
        bool leaves;                    /* this rank only waits until they have finished */
        enum cgx_outcome outcome;       /* the outcome after that wait */
        bool lost;                      /* this rank has no result, and not all ranks know it */
        bool held;                      /* the call is held, and not all ranks may know it */
    } state;
};

/* Begin starts the call. poll returns whether it is over and then sets *OUTCOME. Both wait for this
 * rank's device but never for other ranks. */
void cgx_coll_begin(struct cgx_coll *coll);
bool cgx_coll_poll(struct cgx_coll *coll, enum cgx_outcome *outcome);

enum cgx_outcome cgx_coll_run(struct cgx_coll *coll);

#endif
