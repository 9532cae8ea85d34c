/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that ranks have agreed to compress. */
#ifndef CGX_PMPI_COMPRESS_H
#define CGX_PMPI_COMPRESS_H

#include "comm/connect.h"
#include "observe/record.h"

/* Serves the call of RECORD, which is of SITE; exactly if the call finds that it must not be
 * compressed. CAPABILITY is this rank's. Returns what MPI_Allreduce must return; if this rank or
 * MPI cannot serve the call, RECORD has been observed. */
int cgx_compress(struct cgx_record *record, struct cgx_comm *state, struct cgx_callsite *site,
                 struct cgx_capability *capability);

#endif
