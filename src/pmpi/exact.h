/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that are not compressed. */
#ifndef CGX_PMPI_EXACT_H
#define CGX_PMPI_EXACT_H

#include "observe/record.h"

/* One PMPI_Allreduce with the arguments of RECORD's request; returns its code. (Device buffers that
 * the MPI library cannot read are copied, see bounce.h; half-precision sums on which it would abort
 * go through float32.) Sets what RECORD says of exact calls. */
int cgx_exact(struct cgx_record *record, enum cgx_reason reason);

/* PMPI_Allreduce with REQUEST's arguments; returns its code. */
int cgx_exact_reduce(const struct cgx_request *request);

#endif
