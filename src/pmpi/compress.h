/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls on communicators whose calls may be compressed, done in one way or the other, and taken
 * note of. */
#ifndef CGX_PMPI_COMPRESS_H
#define CGX_PMPI_COMPRESS_H

#include "comm/state.h"
#include "observe/reason.h"
#include "pmpi/call.h"

/* An exact call, for REASON. This rank forms an opinion of it for the ranks' next decision about
 * SAMPLED; NULL: none. Returns what MPI_Allreduce is to return. */
int cgx_exact_noted(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                    struct cgx_callsite *sampled);

/* A call of SITE, which ranks have agreed to compress; if it turns out that it must not be, it is
 * done exactly. */
int cgx_compress(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site);

#endif
