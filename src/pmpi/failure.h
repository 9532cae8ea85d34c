/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls on a communicator that cannot be relied on any more. */
#ifndef CGX_PMPI_FAILURE_H
#define CGX_PMPI_FAILURE_H

#include "comm/state.h"
#include "pmpi/call.h"

/* MPI failed with CODE in CALL, or this rank did, WHY (MPI_SUCCESS): the caller gets the code, or
 * one of our own, and so it does of all later calls. */
int cgx_failure(const struct cgx_call *call, struct cgx_comm *state, int code, const char *why);

/* What a later CALL returns; CODE is that of the failure. */
int cgx_failure_again(const struct cgx_call *call, int code);

#endif
