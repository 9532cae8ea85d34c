/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which calls may be compressed. What is decided from counts, types and ops is the same on all
 * ranks; what is decided from buffers and user ops is this rank's and has to be agreed. */
#ifndef CGX_PMPI_ELIGIBLE_H
#define CGX_PMPI_ELIGIBLE_H

#include "comm/capability.h"
#include "observe/reason.h"
#include "pmpi/call.h"

/* Calls of fewer elements are exact whatever the settings, and those of more than any memory holds:
 * what is computed of a count does not overflow. */
#define CGX_ELIGIBLE_LEAST 1024
#define CGX_ELIGIBLE_MOST ((cgx_mpi_count)1 << 48)

/* CGX_REASON_NONE if some setting could make the call compressible: a float sum, or a user op on a
 * two-byte type that may be one, of CGX_ELIGIBLE_LEAST to _MOST elements. The call's type is always
 * set. */
enum cgx_reason cgx_eligible(struct cgx_call *call);

/* CGX_REASON_HOST_MEMORY or _DEVICE_MEMORY where CGX_BUFFERS leaves out memory that a buffer of the
 * call lies in, else CGX_REASON_NONE. The driver is not asked. */
enum cgx_reason cgx_eligible_memory(const struct cgx_call *call);

/* How this rank would serve the call, as far as its buffers and type say; the program's op may be
 * left to be asked (cgx_capability_ask_op). */
struct cgx_capability cgx_eligible_capability(const struct cgx_call *call);

#endif
