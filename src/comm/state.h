/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library keeps for each of the caller's communicators: all of it is driven by the
 * sequence of calls on the communicator, which its ranks share. comm/comm.h makes and finds it. */
#ifndef CGX_COMM_STATE_H
#define CGX_COMM_STATE_H

#include <stdbool.h>

#include "coll/scratch.h"
#include "comm/callsite.h"
#include "mpi/types.h"
#include "observe/reason.h"
#include "policy/cost.h"
#include "policy/rules/rules.h"
#include "policy/step/recurrence.h"
#include "topo/nodes.h"
#include "util/backoff.h"

struct cgx_callsites;
struct cgx_private_comm;
struct cgx_positions;
struct cgx_stats;

/* The memory that compressed calls work in, with what local peers share of it. Communicators that
 * share a private communicator (private_comm.h) share this too, if their sums were in host memory:
 * their calls follow each other in one order on all ranks, as calls of one communicator do. All
 * zeros: there is none. */
struct cgx_workspace {
    struct cgx_scratch scratch;
    struct cgx_needs reserved; /* what calls can rely on, on all ranks */
    struct cgx_shm *shm;       /* NULL: all messages go by MPI */
    struct cgx_nodes *nodes;   /* that SHM goes by */
    uint64_t shm_cookie;       /* of the segment that local peers are attached to */
    uint64_t mirror_cookie;    /* of the device memory that was offered them last; 0: none */
    bool shm_refused;          /* local peers cannot share memory */
    bool mirrors_refused;      /* nor open the memory of each other's devices */
    bool segments_refused;     /* this rank's devices cannot read what local peers share */
};

/* What ranks have agreed about calls of one type. */
struct cgx_kind {
    bool agreed;    /* calls that need no more memory than there is can be compressed */
    bool by_device; /* and go from device to device inside nodes */
    bool trusted;   /* a call of this kind was sampled and found to be no consensus */
    enum cgx_dtype dtype;
    struct cgx_backoff retry; /* else, before ranks ask each other of new calls without position */
    struct cgx_backoff p2p_suspended; /* if calls went from device to device, but do not now: before
                                       * ranks see whether they can again */
};

/* Ranks agree on nothing before the communicator has had so many float sums of at least 1024
 * elements (CGX_ELIGIBLE_LEAST): these are exact, and the next one calls the roll. A constant,
 * since ranks that do not know each other's settings yet must call it in the same sum. One-off sums
 * then cost nothing, and pauses tell a step of one sum (policy/step/bursts.h) no later. */
#define CGX_FIRST_SUMS 3

/* Small sums in a row. */
struct cgx_smalls {
    uint64_t elements; /* of those that say something, ... */
    uint32_t sums;     /* ... which were so many */
    uint32_t ignored;  /* elements of those that say nothing */
};

/* The float sums of a communicator before it has tables (comm/tables.h), which then learn of them.
 */
struct cgx_first {
    unsigned sums;                                /* so far, of at least 1024 elements */
    struct cgx_callsite_key keys[CGX_FIRST_SUMS]; /* of counts and types */
    struct cgx_smalls before[CGX_FIRST_SUMS + 1]; /* before each of them, and after the last */
    int64_t pauses[CGX_FIRST_SUMS + 1];           /* the longest there, in nanoseconds */
    bool missed; /* sums after them, since every call was exact: they tell nothing of the next */
};

#define CGX_KINDS 8 /* enum cgx_type_class */

/* What ranks have compared, and what the program has said; written by comm.c. */
struct cgx_terms {
    enum cgx_reason refusal; /* why every call is exact */
    bool agreed;             /* settings and hints have been compared; not yet in the first sums */
    bool final;              /* and need not be again, whatever hints come */
    bool refused;            /* the last hints could not be read */
    struct cgx_hints *hints; /* NULL: none */
    unsigned taken;          /* hints, so far */
    uint32_t hints_agreed, name_agreed;   /* hashes of what plans were made for */
    char name[CGX_MPI_OBJECT_NAME_BYTES]; /* where rules ask for it */
};

/* The private communicator for all traffic, NULL until it is needed; written by private_comm.c. */
struct cgx_private {
    cgx_mpi_comm comm;
    struct cgx_private_comm *shared; /* the same, with what is known of it */
};

/* Where ranks are; written by nodes.c. */
struct cgx_places {
    struct cgx_nodes *nodes, *flat; /* of struct cgx_scheme; NULL: not yet known */
    struct cgx_pace pace;           /* known with the nodes ... */
    struct cgx_network network;     /* ... and so is this, between them, and ... */
    uint64_t least[2]; /* ... from how many elements on calls of two bytes, and of four, are
                        * compressed */
};

/* The sequence of its float sums; written by tables.c, and by comm.c where every call is exact. */
struct cgx_stream {
    struct cgx_first first;
    struct cgx_recurrence *recurrence; /* NULL: no large sum has come */
    bool contradicted;                 /* that the step that was set is another one has been said */
    int64_t left;    /* when the latest sum was done, of cgx_trace_clock; 0: that is not wanted */
    size_t step_set; /* calls of the step, as rules and hints say */
};

/* What ranks have agreed of kinds of calls; written by decide.c. Calls count its back-offs. */
struct cgx_agreed {
    struct cgx_kind kinds[CGX_KINDS];
    size_t plan; /* bytes that a plan can be made in, on all ranks */
};

/* What is chosen for the present step; written by positions.c. */
struct cgx_step {
    struct cgx_positions *layers; /* NULL: none */
    struct cgx_backoff retry;     /* if a rank had no memory for them */
    struct cgx_step_size size;    /* of uniform quantisation, for steps of ... */
    uint64_t generation;          /* ... these positions */
};

struct cgx_comm {
    cgx_mpi_comm comm; /* the caller's */
    int rank, size;
    int broken; /* MPI's code if it failed: what was agreed, or is under way, is lost */
    struct cgx_terms terms;
    struct cgx_private private;
    struct cgx_places places;
    struct cgx_stream stream;
    struct cgx_agreed agreed;
    struct cgx_callsites *callsites;
    struct cgx_step step;
    struct cgx_workspace *work; /* the private communicator's, or ... */
    struct cgx_workspace alone; /* ... this one */
    bool established;           /* its sums recur, which has been said */
    uint32_t calls;             /* compressed so far */
    struct cgx_stats *stats;    /* NULL: none are kept */
    struct cgx_reserved *trial; /* results of sums that are observed; NULL: none; of pmpi/trial.c */
};

/* Returns the kind of SITE's calls. */
static inline struct cgx_kind *cgx_comm_kind(struct cgx_comm *state,
                                             const struct cgx_callsite *site)
{
    return &state->agreed.kinds[site->key.type];
}

#endif
