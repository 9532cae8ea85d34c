/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The library's state for each of the caller's communicators. It is driven by the sequence of calls
 * on the communicator, which its ranks share. comm/comm.h makes and finds it. */
#ifndef CGX_COMM_STATE_H
#define CGX_COMM_STATE_H

#include <stdbool.h>

#include "coll/slice.h"
#include "comm/callsite.h"
#include "mpi/types.h"
#include "observe/reason.h"
#include "policy/cost.h"
#include "policy/rules/rules.h"
#include "policy/step/recurrence.h"
#include "topo/nodes.h"
#include "util/backoff.h"

struct cgx_private_comm;
struct cgx_stats;

/* The memory that compressed calls work in, and what local peers share of it. Communicators with a
 * common private communicator (private_comm.h) share this too if their sums were in host memory,
 * since their calls follow each other in one order on all ranks. All zeros: none. */
struct cgx_workspace {
    struct cgx_scratch scratch;
    struct cgx_needs reserved; /* what calls can rely on, on all ranks */
    struct cgx_shm *shm;       /* NULL: all messages go through MPI */
    struct cgx_nodes *nodes;   /* that SHM was made for */
    uint64_t shm_cookie;       /* of the segment that local peers are attached to */
    uint64_t mirror_cookie;    /* of the device memory last offered to them; 0: none */
    bool shm_refused;          /* local peers cannot share memory */
    bool mirrors_refused;      /* local peers cannot open each other's device memory */
    bool segments_refused;     /* this rank's devices cannot read local peers' segments */
};

/* What ranks have agreed for calls of one type. */
struct cgx_kind {
    bool agreed;                      /* calls within the reserved memory can be compressed */
    bool by_device;                   /* and go from device to device inside nodes */
    struct cgx_backoff retry;         /* until ranks ask about new calls without a position */
    struct cgx_backoff p2p_suspended; /* after calls stopped going from device to device */
    bool trusted;                     /* the last window of a call of this kind showed gradients */
};

/* Calls of fewer elements are always exact. */
#define CGX_REQUEST_LEAST 1024

/* A communicator's first sums of at least CGX_REQUEST_LEAST elements are exact without any
 * agreement; the next one runs the first agreement. The number is a constant, since ranks that do
 * not know each other's settings yet must agree in the same sum. So one-off sums cost nothing, and
 * a step of one sum is still found by pauses (policy/step/evidence.h) as early. */
#define CGX_FIRST_SUMS 3

/* The float sums before ranks agree on settings. The recurrence, which is made then, is given them.
 */
struct cgx_first {
    unsigned sums;                                /* of CGX_REQUEST_LEAST elements, so far */
    struct cgx_callsite_key keys[CGX_FIRST_SUMS]; /* counts and types */
    /* Elements of the smaller sums before each of them and after the last. IGNORED: of sums that
     * are too small to count. */
    uint64_t small[CGX_FIRST_SUMS + 1], ignored[CGX_FIRST_SUMS + 1];
    int64_t pauses[CGX_FIRST_SUMS + 1]; /* the longest pause there, in nanoseconds */
};

#define CGX_KINDS 8 /* enum cgx_type_class */

/* Agreements and hints; written by comm.c. */
struct cgx_terms {
    enum cgx_reason refusal; /* why every call is exact */
    bool agreed;             /* settings and hints were compared; not yet in the first sums */
    bool final;              /* no need to compare again, whatever hints come */
    bool refused;            /* the last hints could not be parsed */
    struct cgx_override hints;
    unsigned taken;                       /* number of hints so far */
    uint32_t hints_agreed, name_agreed;   /* hashes that plans were made for */
    char name[CGX_MPI_OBJECT_NAME_BYTES]; /* if rules use names */
};

/* The sequence of float sums; written by tables.c, and by comm.c if every call is exact. */
struct cgx_stream {
    struct cgx_first first;
    struct cgx_recurrence *recurrence; /* NULL: ranks have not agreed, or all calls are exact */
    bool contradicted;                 /* a wrong step length set by the user was reported */
    int64_t left; /* when the latest sum ended, by cgx_trace_clock; 0: not needed */
};

/* What all ranks of a communicator know, and hold alike: it follows from the sequence of calls,
 * agreed settings, and ballots. */
struct cgx_comm_shared {
    uint32_t ballots;                 /* so far; written by ballot.c */
    struct cgx_kind kinds[CGX_KINDS]; /* written by resources.c; calls count its back-offs */
};

struct cgx_comm {
    cgx_mpi_comm comm; /* the caller's */
    int rank, size;
    int broken; /* MPI's code after it failed: agreements and messages under way are lost */
    struct cgx_terms terms;
    struct cgx_private_comm *private; /* for all messages; NULL, on all ranks, until needed */
    struct cgx_scheme scheme;         /* where ranks are, by placement.c; no nodes: not known yet */
    struct cgx_pace pace;             /* known with the nodes */
    struct cgx_stream stream;
    struct cgx_comm_shared shared;
    struct cgx_range sizes[CGX_KINDS]; /* of this rank's inputs, but for those of state */
    struct cgx_callsites *callsites;
    struct cgx_step step;       /* written by callsite.c */
    struct cgx_workspace *work; /* the private communicator's, or ... */
    struct cgx_workspace alone; /* ... this one */
    bool established;           /* its sums recur, which was logged */
    bool removed;               /* taken off the communicator, which is being freed */
    struct cgx_stats *stats;    /* NULL: no statistics */
    struct cgx_reserved *trial; /* results of observed sums (pmpi/trial.c); NULL: none */
};

/* Returns the kind of SITE's calls. */
static inline struct cgx_kind *cgx_comm_kind(struct cgx_comm *state,
                                             const struct cgx_callsite *site)
{
    return &state->shared.kinds[site->key.type];
}

/* ---- tables (tables.c) ----
 *
 * Where sums recur, what was agreed about them and how they are run. Tables are made when ranks
 * agree on settings, in the communicator's 4th sum of 1024 elements or more, since most
 * communicators never have so many. */

/* Whether sums of COUNT elements are large: at least CGX_COMPRESSION_MINIMAL_SIZE. */
bool cgx_tables_serve(uint64_t count);

/* Makes STATE's missing tables. False if memory is short. */
bool cgx_tables_make(struct cgx_comm *state);

void cgx_tables_free(struct cgx_comm *state);

/* The recurrence, which is new and has the user's step, takes the first sums. */
void cgx_tables_catch_up(struct cgx_comm *state);

/* After a pause (left in struct cgx_stream): the next sum began at BEGUN, by cgx_trace_clock. */
void cgx_tables_wait(struct cgx_comm *state, int64_t begun);

/* The sum has ended: a pause begins. */
void cgx_tables_pause(struct cgx_comm *state);

/* After a large sum was taken: ranks compare the steps that they have found if it is time for that,
 * and follow a step that all have found; *OCCURRENCE is then updated for that sum. Returns the code
 * of the communicator's error handler. */
int cgx_tables_compare(struct cgx_comm *state, struct cgx_occurrence *occurrence);

/* Takes the next float sum, of COUNT elements of TYPE. After the first sums it needs the tables. */
struct cgx_occurrence cgx_tables_next(struct cgx_comm *state, uint64_t count, unsigned type);

#endif
