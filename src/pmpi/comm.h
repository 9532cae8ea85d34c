/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library keeps for each of the caller's communicators, as an attribute of it: made in the
 * first call that some setting could make compressed, freed with the communicator. All of it is
 * driven by the sequence of calls on this communicator, which its ranks share. */
#ifndef CGX_PMPI_COMM_H
#define CGX_PMPI_COMM_H

#include <stdbool.h>

#include "coll/scratch.h"
#include "observe/reason.h"
#include "pmpi/agreed_calls.h"
#include "pmpi/schedules.h"
#include "pmpi/types.h"
#include "policy/recurrence.h"
#include "policy/rules.h"
#include "topo/nodes.h"

struct cgx_layers;
struct cgx_stats;

/* What ranks have agreed about calls of one type. */
struct cgx_kind {
    bool agreed;    /* calls that need no more memory than there is can be compressed */
    bool by_device; /* and go from device to device inside nodes */
    bool trusted;   /* a call of this kind was looked at and found to be no consensus */
    enum cgx_dtype dtype;
    /* Else new calls without a position stay exact until WAIT more have come; then ranks ask each
     * other again. */
    uint32_t wait, next_wait;
    /* Calls that did go from device to device and do not now, until ranks see whether they can
     * again; NEXT_APART 0: they never did. */
    uint32_t apart, next_apart;
};

/* Memory that calls can rely on. */
struct cgx_held {
    struct cgx_needs needs; /* to work in */
    size_t plan;            /* bytes that a plan can be made in */
};

#define CGX_KIND_FIRST_WAIT 4
#define CGX_KIND_MOST_WAIT 64
#define CGX_KIND_FIRST_APART 16
#define CGX_KIND_MOST_APART 1024
#define CGX_KINDS 8 /* enum cgx_type_class */

struct cgx_comm {
    enum cgx_reason refusal; /* why every call is exact */
    bool agreed;         /* settings and hints have been compared */
    bool final;          /* and need not be again, whatever hints come */
    bool broken;         /* MPI failed: what was agreed, or is under way on OWN, is lost */
    bool hints_refused;
    int rank;
    int size;
    MPI_Comm own; /* private communicator for all traffic; MPI_COMM_NULL until it is needed */
    struct cgx_nodes *nodes, *flat;     /* of struct cgx_scheme; NULL: not yet known */
    struct cgx_pace pace;               /* known with the nodes */
    struct cgx_hints *hints;            /* NULL: none */
    uint32_t hints_agreed, name_agreed; /* hashes of what plans were made for */
    char name[MPI_MAX_OBJECT_NAME];     /* where rules ask for it */
    struct cgx_recurrence *recurrence;
    size_t step_told; /* calls of the step, as rules and hints say */
    struct cgx_kind kinds[CGX_KINDS];
    struct cgx_held held; /* by all ranks */
    struct cgx_agreed_calls *agreed_calls;
    struct cgx_schedules *schedules;
    struct cgx_layers *layers; /* of the present step; NULL: none */
    unsigned layers_wait;      /* steps until a rank may have memory for them */
    bool established;          /* its sums recur, which has been said */
    bool said_consensus;       /* rank 0 has warned of one */
    bool shm_refused;          /* mates cannot share memory */
    bool mirrors_refused;      /* nor open the memory of each other's devices */
    bool segments_refused;     /* this rank's devices cannot read what mates share */
    struct cgx_scratch scratch;
    struct cgx_shm *shm;     /* NULL: all messages go by MPI */
    uint64_t shm_cookie;     /* of the segment that mates are attached to */
    uint64_t mirror_cookie;  /* of the device memory that was offered them last; 0: none */
    uint32_t calls;          /* compressed so far */
    struct cgx_stats *stats; /* NULL: none are kept */
};

/* The state of COMM. Its first call on a communicator, and the first after a hint, holds the
 * agreement about settings. Returns MPI's code; *STATE is set on success. */
int cgx_comm_get(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm **state);

/* The state of COMM, without communication; NULL if it has none, or no call of it can be
 * compressed. */
struct cgx_comm *cgx_comm_peek(const struct cgx_mpi *mpi, MPI_Comm comm);

/* Takes what INFO, which MPI_Comm_set_info has accepted, says to this library. Returns MPI's
 * code. */
int cgx_comm_hint(const struct cgx_mpi *mpi, MPI_Comm comm, MPI_Info info);

/* The same for STATE, which may be compared again. */
void cgx_comm_take_hints(const struct cgx_mpi *mpi, MPI_Info info, struct cgx_comm *state);

/* Tells the recurrence how long the step is, where rules or hints, which ranks have compared, say
 * so. */
void cgx_comm_tell_step(struct cgx_comm *state);

/* What rules and hints say of a call with KEY at POSITION of the step (CGX_POSITION_NONE: not
 * known), the settings included: EXACT, where no width is said and the settings have none. *REASON:
 * who says so. */
struct cgx_say cgx_comm_say(const struct cgx_comm *state, uint64_t key, size_t position,
                            enum cgx_reason *reason);

/* The backend for a buffer that is where BUFFER says, made where it must be; the scratch memory has
 * been reserved. */
enum cgx_status cgx_comm_backend(struct cgx_comm *state, const struct cgx_pointer *buffer,
                                 enum cgx_sync sync, struct cgx_backend **backend);

/* True if this process may have one more private communicator. A true answer reserves it, until
 * cgx_comm_return or the end of the communicator. */
bool cgx_comm_reserve(void);
void cgx_comm_return(void);

/* Makes STATE's private communicator on all ranks of COMM; *MADE: on all of them. The reservation
 * is returned where it was not made. Returns MPI's code. */
int cgx_comm_make_own(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm *state, bool *made);

#endif
