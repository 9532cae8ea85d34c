/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Exact calls on device buffers, with an MPI that cannot read device memory: it gets copies in host
 * memory, whole, and one call. */
#ifndef CGX_PMPI_BOUNCE_H
#define CGX_PMPI_BOUNCE_H

#include <stdbool.h>

#include "pmpi/call.h"

/* Whether a buffer of CALL is device memory and the MPI must not be given it: it is not CUDA-aware,
 * or, if ON_HOST, whoever does the call is the processor. Managed memory is passed on. False too
 * for calls in which the MPI touches no buffer, and those that it refuses. This rank's affair:
 * others may have host buffers. Without a CUDA driver in the process costs less than 0.05 us. */
bool cgx_bounce_needed(const struct cgx_call *call, bool on_host);

/* Has REDUCE do CALL on host memory, and brings the result to device memory. Gaps in a derived
 * datatype get the values that they had when the call began. Returns what REDUCE does, or an error
 * that was raised on the communicator: if REDUCE was not called then, others wait for this rank, as
 * for one whose buffers MPI refuses. MPI_ERR_BUFFER: the call's bytes are not all there, or are
 * named by absolute addresses (MPI_BOTTOM). MPI_ERR_NO_MEM: no host memory. */
int cgx_bounce(const struct cgx_call *call, int (*reduce)(const struct cgx_call *call));

#endif
