/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The compressed all-reduce of one recurring buffer over a private communicator: which algorithm,
 * in how many slices, and what is done when a rank cannot serve.
 *
 * While one slice is on the wire the next is encoded and the last decoded: backends of devices
 * queue that work, and the host does it while the messages of an exchange are under way, and polls
 * them now and then.
 *
 * No rank ever leaves the schedule: one that cannot serve sends headers only, with a flag that
 * every stage passes on. */
#ifndef CGX_COLL_COLL_H
#define CGX_COLL_COLL_H

#include "coll/schedule.h"
#include "coll/scratch.h"
#include "mpi/table.h"
#include "policy/consensus.h"
#include "policy/finding.h"
#include "policy/recent.h"

/* What a call shows of the segments of an adaptive plan. */
struct cgx_feedback {
    /* By segment: the sum of n u^2 over the buckets of n elements of all quantisations of the call,
     * the same on all ranks; NaN where a bucket was poisoned, and everywhere where all ranks know
     * that they have no result. */
    double *energies;
    /* By segment, what this rank finds. NULL: it does not look. */
    struct cgx_finding *findings;
    struct cgx_sampling sampling; /* where it looks */
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
    uint32_t number;           /* of such looks at the call site before this one */
    uint32_t ignored;          /* a bit for each enum cgx_consensus that is not looked for */
    struct cgx_recent *recent; /* the last sums, of what this rank owns; NULL: it keeps none */
};

/* What a rank can do for a call; the worst of all ranks counts. */
enum cgx_standing {
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
    uint64_t seed;      /* of stochastic rounding */
    uint32_t call;
    const void *input; /* may be the output */
    void *output;
    enum cgx_standing standing; /* of this rank; where it is not able its buffers and backends are
                                 * not used */
    struct cgx_feedback *feedback;                   /* NULL: the plan is not adaptive */
    const struct cgx_error_feedback *error_feedback; /* NULL: errors are not kept */
    /* Whether there is history, on all ranks, of AGE sums; and that of this rank, if it is able,
     * held by the encoder, which is the decoder. Where the outcome is not DONE it is of no use any
     * more. */
    bool recalls;
    uint32_t age;
    struct cgx_history history;
    /* NULL, or by bucket of the buffer, set where the outcome is DONE: the sum of the scales of
     * what this rank has quantised of the bucket; NaN where it was poisoned. Summed over the ranks
     * these are the scales of all quantisations of the bucket. */
    float *scales;
    struct cgx_watching watching;
    struct cgx_verdict seen; /* set: what the look has found; if it forbids, nothing is written */
    size_t sent;             /* set: bytes of the messages sent */
    int code;                /* set where the outcome is BROKEN: MPI's, if MPI failed */
    struct {
        uint32_t hash;     /* of the plan and the history's age, in every message */
        unsigned backends; /* that have begun */
        unsigned slice;    /* number of the one that is under way */
        bool puts_off;     /* work is done by the host, and so while messages are under way */
        unsigned started;  /* slices, in order */
        struct cgx_slice *undecoded;           /* the last that is over, if it is to be decoded */
        const struct cgx_meanwhile *meanwhile; /* while messages are under way */
        bool failed;                           /* MPI has, in what was done meanwhile */
        /* Why the next slice is declined, if it is. */
        bool lost;      /* this rank has no result, and not all ranks know */
        bool consensus; /* the call must not be compressed, and not all ranks may know */
    } state;
};

enum cgx_outcome {
    CGX_OUTCOME_DONE,
    CGX_OUTCOME_DECLINED,  /* all ranks know that it cannot be done; no output was written on any */
    CGX_OUTCOME_CONSENSUS, /* all ranks know that SEEN forbids it; no output was written on any */
    CGX_OUTCOME_HALFWAY,   /* as declined, but output was written: the call is an error on all */
    CGX_OUTCOME_UNRECOVERABLE, /* all ranks know that one cannot do it exactly either: an error on
                                * all */
    CGX_OUTCOME_LOST,          /* this rank has no result; others may have one */
    /* MPI failed, or this rank lost what others may have seen in the last slice, or have in their
     * FEEDBACK: COMM and SCRATCH may never be used again. */
    CGX_OUTCOME_BROKEN,
};

/* The call in parts: whether it is over, and then with which *OUTCOME. Waits for this rank's
 * device, and never for other ranks. */
void cgx_coll_begin(struct cgx_coll *coll);
bool cgx_coll_poll(struct cgx_coll *coll, enum cgx_outcome *outcome);

/* The whole call. */
enum cgx_outcome cgx_coll_run(struct cgx_coll *coll);

#endif
