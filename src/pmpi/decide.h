/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks decide together which recurring calls are compressed. They agree once for each kind of
 * calls, of one type: where the buffers live, what staging memory there is, how nodes are
 * connected. A count that is new then needs nothing, but where it needs more memory than any
 * before, which grows by half. For each position of the step, where CGX_CONSENSUS says so, they
 * look at the data once too. */
#ifndef CGX_PMPI_DECIDE_H
#define CGX_PMPI_DECIDE_H

#include "pmpi/call.h"
#include "pmpi/comm.h"

/* A float sum that may be compressed, as far as this communicator's calls tell. */
struct cgx_recurring {
    uint64_t call; /* cgx_recurrence_key */
    size_t position;
    bool recurs;
    struct cgx_say say;
    enum cgx_reason reason;        /* why the call is exact, or CGX_REASON_NONE and ... */
    struct cgx_agreed_call *entry; /* ... what ranks have agreed of it */
    struct cgx_kind *kind;
};

/* How CALL is run, once its kind is agreed. NULL if memory is short. */
const struct cgx_schedule *cgx_decide_schedule(struct cgx_comm *state,
                                               const struct cgx_recurring *recurring);

/* Whether calls are looked at for a consensus before they are compressed. */
bool cgx_decide_guards(const struct cgx_say *say);

/* Whether all that the call needs has been agreed. */
bool cgx_decide_is_served(struct cgx_comm *state, const struct cgx_recurring *recurring);

/* Collective on the caller's communicator: what becomes of the entry. Returns MPI's code. */
int cgx_decide(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type,
               struct cgx_comm *state, const struct cgx_recurring *recurring);

/* Raises that a rank, this one if its REFUSAL says so, can serve CALL neither compressed nor exactly.
 * The next call is tried too: as an exact one it would be an error on that rank alone. */
int cgx_decide_raise(const struct cgx_mpi *mpi, const struct cgx_call *call,
                     enum cgx_reason refusal);

/* Rank 0 warns of the first VERDICT of a communicator, so that a program that averages its weights
 * is told, and not flooded; the log has the others at the level debug. */
void cgx_decide_warn(struct cgx_comm *state, const struct cgx_recurring *recurring,
                     struct cgx_verdict verdict);

#endif
