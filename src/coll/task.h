/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One compressed all-reduce: its parameters, set by the caller, and its state. */
#ifndef CGX_COLL_TASK_H
#define CGX_COLL_TASK_H

#include "coll/exchange.h"
#include "coll/schedule.h"
#include "cuda/device_backend.h"
#include "mpi/table.h"
#include "policy/look.h"
#include "policy/widths/step_size.h"

struct cgx_scratch;

/* What a rank can do for a call; the worst rank counts. */
enum cgx_vote {
    CGX_ABLE,
    CGX_UNSUITED,      /* cannot compress this call: its type or buffers */
    CGX_DECLINED,      /* can compress no call like it at present */
    CGX_UNRECOVERABLE, /* cannot serve it uncompressed either */
};

struct cgx_coll {
    const struct cgx_mpi *mpi;
    cgx_mpi_comm comm;
    cgx_mpi_comm caller; /* the program's communicator */
    int tag;             /* concurrent calls on COMM have tags 2 apart */
    unsigned rank;
    const struct cgx_schedule *schedule;
    struct cgx_backend *encoder; /* for the input; both backends are made for SCRATCH */
    struct cgx_backend *decoder; /* for the output */
    struct cgx_scratch *scratch; /* this call's own; satisfies the schedule's needs */
    struct cgx_pace pace;        /* fragment size equal on all ranks */
    struct cgx_shm *shm; /* attached to SCRATCH's segment; NULL: all messages go through MPI */
    enum cgx_pull pull;  /* by the encoder, which is then the decoder too; DEVICE: on all ranks */
    uint32_t turn;       /* compressed calls of the same sum so far */
    /* Of uniform quantisation, by kind of level and of results; 0: derived from each piece's
     * elements, of whose squares the squared error is then this part. FLOOR: struct cgx_coding's.
     */
    float step_sizes[CGX_STEP_STAGES], error, floor;
    uint32_t call;
    const void *input; /* may be the output */
    void *output;
    enum cgx_vote vote; /* of this rank; if not CGX_ABLE its buffers and backends are not used */
    /* has_history: all ranks have a history of AGE sums. history: this rank's, if it is able, in
     * memory of the encoder, which is also the decoder. Unless the outcome is DONE, the history is
     * no longer usable. */
    bool has_history;
    uint32_t age;
    struct cgx_history history;
    bool looks;                /* ranks look at their inputs, and may hold the call for these */
    struct cgx_inputs *inputs; /* of this rank's calls like this one; NULL: it does not look */
    struct cgx_input_traits traits; /* of its input */
    struct cgx_sketch sketch;       /* of its input; set if it looks */
    enum cgx_look look;             /* set: what the input shows, or that it is as all peers' */
    double size;                    /* set: of the input; 0: unknown */
    /* Set if the outcome is DONE: what all ranks have quantised uniformly. */
    struct cgx_quantised quantised;
    size_t sent; /* set: bytes of the messages sent */
    int code;    /* set if the outcome is BROKEN: MPI's error code, if MPI failed */
    struct {
        uint32_t hash;               /* of the plan and the history's age, in every message */
        unsigned backends;           /* number that have begun */
        unsigned slice;              /* number of the current slice */
        bool puts_off;               /* the host does the work, while messages are under way */
        unsigned started;            /* slices started so far */
        struct cgx_slice *undecoded; /* the last finished slice, if still to be decoded */
        const struct cgx_meanwhile *meanwhile; /* while messages are under way */
        bool failed;                           /* MPI failed during meanwhile */
        bool lent;   /* local peers may be decoding this rank's sums in place */
        bool leaves; /* this rank only waits until they have finished */
        int outcome; /* then: an enum cgx_outcome */
        bool lost;   /* this rank has no result, and not all ranks know it */
        bool held;   /* the call is held, and not all ranks may know it */
    } state;
};

#endif
