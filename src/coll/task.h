/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One compressed all-reduce: what its caller sets, and where it is. */
#ifndef CGX_COLL_TASK_H
#define CGX_COLL_TASK_H

#include "coll/exchange.h"
#include "coll/schedule.h"
#include "cuda/device_backend.h"
#include "mpi/table.h"
#include "policy/consensus.h"
#include "policy/recent.h"
#include "policy/widths/finding.h"
#include "policy/widths/step_size.h"

struct cgx_scratch;

/* What a call shows of the segments of an adaptive plan. */
struct cgx_feedback {
    /* By segment: the sum of n u^2 over the buckets of n elements of all quantisations of the call,
     * the same on all ranks; NaN where a bucket was poisoned, and everywhere where all ranks know
     * that they have no result. */
    double *energies;
    /* By segment, what this rank finds. NULL: it does not look. */
    struct cgx_finding *findings;
    struct cgx_sampling sampling; /* which buckets are sampled */
};

/* The residuals of what this rank quantises, in memory that the encoder holds (residuals.h). */
struct cgx_error_feedback {
    struct cgx_residuals input, shard, chunk;
    size_t shard_end; /* the element behind those of the shard */
    size_t bytes;     /* of all */
};

/* What is looked for within a call whose schedule is watched: whether its sums are of gradients
 * (policy/consensus.h). The same on all ranks, but for the memory. */
struct cgx_watching {
    float threshold;           /* of the distance; 0: nothing is looked for */
    uint32_t number;           /* of such samples at the call site before this one */
    uint32_t ignored;          /* a bit for each enum cgx_consensus that is not looked for */
    bool sees_input;           /* whether this rank's input is in host memory */
    struct cgx_recent *recent; /* the last sums, of what this rank owns; NULL: it keeps none */
};

/* What a rank can do for a call; the worst of all ranks counts. */
enum cgx_vote {
    CGX_ABLE,
    CGX_UNSUITED,      /* it cannot compress this one, for its type or buffers */
    CGX_DECLINED,      /* it can compress none like it now */
    CGX_UNRECOVERABLE, /* nor can it serve this one exactly */
};

struct cgx_coll {
    const struct cgx_mpi *mpi;
    cgx_mpi_comm comm;
    cgx_mpi_comm caller; /* the program's communicator */
    int tag;             /* calls that are under way on COMM at the same time have tags 2 apart */
    unsigned rank;
    const struct cgx_schedule *schedule;
    struct cgx_backend *encoder; /* for the input; both made for SCRATCH */
    struct cgx_backend *decoder; /* for the output */
    struct cgx_scratch *scratch; /* this call's; holds at least the schedule's needs */
    struct cgx_pace pace;        /* fragments as on all ranks */
    struct cgx_shm *shm;         /* attached to SCRATCH's segment; NULL: all messages go by MPI */
    enum cgx_pull pull; /* by the encoder, which then is the decoder; DEVICE: on all ranks */
    uint64_t seed;      /* of stochastic rounding and dither */
    float step;         /* of uniform quantisation; 0: as the elements of each piece are */
    uint32_t call;
    const void *input; /* may be the output */
    void *output;
    enum cgx_vote vote; /* of this rank; where it is not able its buffers and backends are
                         * not used */
    struct cgx_feedback *feedback;                   /* NULL: the plan is not adaptive */
    const struct cgx_error_feedback *error_feedback; /* NULL: errors are not kept */
    /* Whether there is history, on all ranks, of AGE sums; and that of this rank, if it is able,
     * held by the encoder, which is the decoder. Where the outcome is not DONE it is of no use any
     * more. */
    bool has_history;
    uint32_t age;
    struct cgx_history history;
    /* NULL, or by bucket of the buffer, set where the outcome is DONE: the sum of the scales of
     * what this rank has quantised of the bucket; NaN where it was poisoned. Summed over the ranks
     * these are the scales of all quantisations of the bucket. */
    float *scales;
    struct cgx_watching watching;
    struct cgx_verdict seen; /* set: what the sample has shown; if it forbids, nothing is written */
    /* Set where the outcome is DONE: what was uniformly quantised, by all ranks. */
    struct cgx_quantised quantised;
    size_t sent; /* set: bytes of the messages sent */
    int code;    /* set where the outcome is BROKEN: MPI's, if MPI failed */
    struct {
        uint32_t hash;     /* of the plan and the history's age, in every message */
        unsigned backends; /* that have begun */
        unsigned slice;    /* number of the one that is under way */
        bool puts_off;     /* work is done by the host, and so while messages are under way */
        unsigned started;  /* slices, in order */
        struct cgx_slice *undecoded;           /* the last that is over, if it is to be decoded */
        const struct cgx_meanwhile *meanwhile; /* while messages are under way */
        bool failed;                           /* MPI has, in what was done meanwhile */
        bool lent;   /* local peers may be decoding this rank's sums where they are */
        bool leaves; /* this rank only waits until they have */
        int outcome; /* then: an enum cgx_outcome */
        /* Why the next slice is declined, if it is. */
        bool lost;      /* this rank has no result, and not all ranks know */
        bool consensus; /* the call must not be compressed, and not all ranks may know */
    } state;
};

#endif
