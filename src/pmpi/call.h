/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A call of the program, and what is known of its buffers. */
#ifndef CGX_PMPI_CALL_H
#define CGX_PMPI_CALL_H

#include <stdbool.h>

#include "comm/state.h"
#include "cuda/memory.h"
#include "mpi/types.h"

/* The caller's arguments; large: those of MPI_Allreduce_c. */
struct cgx_call {
    const void *sendbuf;
    void *recvbuf;
    cgx_mpi_count count;
    cgx_mpi_datatype datatype;
    cgx_mpi_op op;
    cgx_mpi_comm comm;
    bool large;
    struct cgx_pointer send, receive; /* where the buffers lie; in place, both are the same */
    enum cgx_type_class type;         /* of the elements, once cgx_eligible has found it */
    size_t position;                  /* in the step; CGX_POSITION_NONE: not known */
};

/* Sets CALL's send and receive: the driver is asked once for each distinct buffer, and not at all
 * where no data is named. */
void cgx_call_query_memory(struct cgx_call *call);

/* Where the elements that CALL puts in are. */
const void *cgx_call_input(const struct cgx_call *call);

/* PMPI_Allreduce with CALL's arguments; returns what it returns. */
int cgx_call_reduce(const struct cgx_call *call);

/* ---- on a communicator that cannot be relied on any more ---- */

/* MPI failed with CODE in CALL, or this rank did, WHY (MPI_SUCCESS): the caller gets the code, or
 * one of our own, and so it does of all later calls. */
int cgx_failure(const struct cgx_call *call, struct cgx_comm *state, int code, const char *why);

/* What a later CALL returns; CODE is that of the failure. */
int cgx_failure_again(const struct cgx_call *call, int code);

#endif
