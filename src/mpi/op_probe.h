/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a function does, found by calling it. */
#ifndef CGX_MPI_OP_PROBE_H
#define CGX_MPI_OP_PROBE_H

#include "mpi/ops.h"
#include "mpi/table.h"

/* Calls SOURCE's function on pairs of 16-bit words, DATATYPE being what it is told of their type,
 * in runs of 1, 7, 8 and 33, since functions have vector paths. It is a sum if every result is the
 * sum to within one unit in the last place: it may round as it likes, overflow to infinity or to
 * the largest number, and take subnormal numbers for zeros. A function that writes outside its
 * result is none. Infinities and NaN are not tried. */
enum cgx_op_class cgx_op_try(const struct cgx_op_source *source, cgx_mpi_datatype datatype);

#endif
