/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that are not compressed. */
#ifndef CGX_PMPI_EXACT_H
#define CGX_PMPI_EXACT_H

#include "observe/reason.h"
#include "pmpi/call.h"

/* One PMPI_Allreduce with the caller's arguments; returns its code. (Device buffers that the MPI
 * library cannot read are copied, see bounce.h; half-precision sums on which it would abort go
 * through float32.) On success counts and logs the call with REASON. */
int cgx_exact(const struct cgx_call *call, enum cgx_reason reason);

#endif
