/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Exact half-precision sums where the MPI library's own abort: MPICH 4.0 gives MPIX_C_FLOAT16 to a
 * datatype engine that has no arithmetic for it ("actual_pack_bytes == data_sz"). 3.4 has other
 * code; 4.1 asks that engine only if it was built for GPUs. */
#ifndef CGX_PMPI_HALF_SUM_H
#define CGX_PMPI_HALF_SUM_H

#include <stdbool.h>

#include "pmpi/call.h"

/* Version, type and op decide: the same on all ranks. */
bool cgx_half_sum_needed(const struct cgx_call *call);

/* CALL, a sum of float16 in host memory, as one of float32 copies, each result rounded to nearest
 * once. Returns what PMPI_Allreduce returns; on an error nothing
 * is written. Arguments that the MPI library refuses, and calls for which memory cannot be had, are
 * passed to it as they are. */
int cgx_half_sum(const struct cgx_call *call);

#endif
