/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An intercepted call and its buffers. */
#ifndef CGX_PMPI_CALL_H
#define CGX_PMPI_CALL_H

#include <stdbool.h>

#include "comm/state.h"
#include "cuda/memory.h"
#include "mpi/types.h"

/* The caller's arguments; large: to MPI_Allreduce_c. */
struct cgx_call {
    const void *sendbuf;
    void *recvbuf;
    cgx_mpi_count count;
    cgx_mpi_datatype datatype;
    cgx_mpi_op op;
    cgx_mpi_comm comm;
    bool large;
    struct cgx_pointer send, receive; /* where the buffers are; equal if in place */
    enum cgx_type_class type;         /* of the elements; set by cgx_eligible */
    size_t position;                  /* in the step; CGX_POSITION_NONE: unknown */
};

/* Sets CALL's send and receive: one driver query per distinct buffer, none if the call has no
 * data. */
void cgx_call_query_memory(struct cgx_call *call);

/* The buffer of CALL's input elements. */
const void *cgx_call_input(const struct cgx_call *call);

/* PMPI_Allreduce with CALL's arguments; returns its code. */
int cgx_call_reduce(const struct cgx_call *call);

/* ---- on a communicator that has failed ---- */

/* Handles a failure in CALL: MPI failed with CODE or, with MPI_SUCCESS, this rank did because of
 * WHY. Returns the error code for the caller; later calls fail with the same code. */
int cgx_failure(const struct cgx_call *call, struct cgx_comm *state, int code, const char *why);

/* What a later CALL returns; CODE is that of the failure. */
int cgx_failure_again(const struct cgx_call *call, int code);

#endif
