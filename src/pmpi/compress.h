/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Serves calls on communicators whose calls may be compressed, exactly or compressed, and counts
 * them. */
#ifndef CGX_PMPI_COMPRESS_H
#define CGX_PMPI_COMPRESS_H

#include "comm/state.h"
#include "observe/reason.h"
#include "pmpi/call.h"

/* Serves an exact call, for REASON. If SAMPLED is not NULL, this rank samples the call for the
 * ranks' next decision about that site. Returns what MPI_Allreduce must return. */
int cgx_exact_noted(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                    struct cgx_callsite *sampled);

/* Serves a call of SITE, which ranks have agreed to compress; exactly if the call finds that it
 * must not be compressed. */
int cgx_compress(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site);

#endif
