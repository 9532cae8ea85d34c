/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which calls may be compressed. What follows from counts, types and ops is the same on all ranks.
 * What follows from buffers is this rank's, and ranks must agree on it. */
#ifndef CGX_PMPI_ELIGIBLE_H
#define CGX_PMPI_ELIGIBLE_H

#include "comm/capability.h"
#include "observe/reason.h"
#include "pmpi/call.h"

/* Calls of fewer or more elements are always exact. No memory holds more, and computations with
 * counts cannot overflow. */
#define CGX_ELIGIBLE_LEAST 1024
#define CGX_ELIGIBLE_MOST ((cgx_mpi_count)1 << 48)

/* CGX_REASON_NONE if some setting could compress the call: a float sum, or a user op on a two-byte
 * type that may be one, of CGX_ELIGIBLE_LEAST to _MOST elements. Always sets the call's type. */
enum cgx_reason cgx_eligible(struct cgx_call *call);

/* CGX_REASON_HOST_MEMORY or _DEVICE_MEMORY if CGX_BUFFERS excludes the memory of a buffer of the
 * call, otherwise CGX_REASON_NONE. Does not query the driver. */
enum cgx_reason cgx_eligible_memory(const struct cgx_call *call);

/* This rank's capability for the call by its buffers and type. */
struct cgx_capability cgx_eligible_capability(const struct cgx_call *call);

#endif
