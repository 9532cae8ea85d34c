/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The intercepted all-reduce. */
#ifndef CGX_PMPI_ALLREDUCE_H
#define CGX_PMPI_ALLREDUCE_H

#include "pmpi/call.h"

/* Compresses CALL, whose memory was queried, or passes it to the MPI library. Returns the value for
 * MPI_Allreduce. */
int cgx_allreduce(struct cgx_call *call);

#endif
