/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The intercepted all-reduce. */
#ifndef CGX_PMPI_ALLREDUCE_H
#define CGX_PMPI_ALLREDUCE_H

#include "mpi/request.h"

/* Compresses the call of REQUEST, or passes it to the MPI library. Returns the value for
 * MPI_Allreduce. */
int cgx_allreduce(const struct cgx_request *request);

#endif
