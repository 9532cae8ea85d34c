/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Exact calls on device buffers with an MPI that cannot read device memory: the MPI gets host
 * copies of whole buffers, in one call. */
#ifndef CGX_PMPI_BOUNCE_H
#define CGX_PMPI_BOUNCE_H

#include <stdbool.h>

#include "pmpi/request.h"

/* Whether REQUEST has a buffer in device memory that must not reach the MPI: the MPI is not
 * CUDA-aware or, if ON_HOST, the processor does the call itself. Managed memory is passed on. False
 * for calls in which the MPI touches no buffer, and for those it refuses. Decided per rank: others
 * may have host buffers. Less than 0.05 us without a CUDA driver. */
bool cgx_bounce_needed(const struct cgx_request *request, bool on_host);

/* Lets REDUCE do REQUEST on host memory and copies the result to device memory. Gaps in a derived
 * datatype keep their values. Returns REDUCE's code, or an error raised on the communicator; if
 * REDUCE was not called, other ranks wait for this one, as after any refused call. MPI_ERR_BUFFER:
 * bytes of the call are missing, or are named by absolute addresses (MPI_BOTTOM). MPI_ERR_NO_MEM:
 * no host memory. */
int cgx_bounce(const struct cgx_request *request, int (*reduce)(const struct cgx_request *request));

#endif
