/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The intercepted all-reduce. */
#ifndef CGX_PMPI_ALLREDUCE_H
#define CGX_PMPI_ALLREDUCE_H

#include <mpi.h>
#include <stdbool.h>

/* The caller's arguments; large: he called MPI_Allreduce_c. */
struct cgx_call {
    const void *sendbuf;
    void *recvbuf;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
    bool large;
};

/* Compresses the call or passes it to the MPI library; returns what MPI_Allreduce returns. */
int cgx_allreduce(const struct cgx_call *call);

#endif
