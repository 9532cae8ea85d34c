/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library keeps for each of the caller's communicators, as an attribute of it: made in the
 * first call that some setting could make compressed, freed with the communicator. All of it is
 * driven by the sequence of calls on this communicator, which its ranks share. */
#ifndef CGX_PMPI_COMM_H
#define CGX_PMPI_COMM_H

#include <stdbool.h>

#include "coll/scratch.h"
#include "pmpi/signatures.h"
#include "policy/step.h"

struct cgx_comm {
    const char *refusal; /* why every call is exact, for ever; NULL: calls may be compressed */
    int rank;
    int size;
    MPI_Comm own; /* private communicator for all traffic; MPI_COMM_NULL until it is needed */
    bool broken;  /* MPI failed: what was agreed, or is under way on OWN, is lost */
    struct cgx_step *step; /* NULL: no warm-up, every call recurs */
    struct cgx_signatures *signatures;
    struct cgx_scratch scratch;
    uint32_t calls; /* compressed so far */
};

/* The state of COMM. Its first call on a communicator holds the agreement about settings. Returns
 * MPI's code; *STATE is set on success. */
int cgx_comm_get(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm **state);

/* The backend for BUFFER, made where it must be; the scratch memory has been reserved. */
enum cgx_status cgx_comm_backend(struct cgx_comm *state, const void *buffer, enum cgx_sync sync,
                                 struct cgx_backend **backend);

/* True if this process may have one more private communicator. A true answer reserves it, until
 * cgx_comm_return or the end of the communicator. */
bool cgx_comm_reserve(void);
void cgx_comm_return(void);

/* Makes STATE's private communicator on all ranks of COMM; *MADE: on all of them. The reservation
 * is returned where it was not made. Returns MPI's code. */
int cgx_comm_make_own(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm *state, bool *made);

#endif
