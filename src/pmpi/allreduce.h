/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The intercepted all-reduce. */
#ifndef CGX_PMPI_ALLREDUCE_H
#define CGX_PMPI_ALLREDUCE_H

#include "pmpi/call.h"

/* Compresses the call, whose buffers were looked at, or passes it to the MPI library; returns what
 * MPI_Allreduce returns. */
int cgx_allreduce(struct cgx_call *call);

#endif
