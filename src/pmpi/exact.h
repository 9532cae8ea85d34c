/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that are not compressed. */
#ifndef CGX_PMPI_EXACT_H
#define CGX_PMPI_EXACT_H

#include "observe/reason.h"
#include "pmpi/call.h"

/* One PMPI_Allreduce with the caller's arguments; returns what it returns. (Device buffers that the
 * MPI library cannot read are copied, see bounce.h; half-precision sums that it would abort on go
 * through float32.) Where it succeeds the call is counted and logged with its REASON. */
int cgx_exact(const struct cgx_call *call, enum cgx_reason reason);

#endif
