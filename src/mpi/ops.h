/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which of the program's own ops are sums of half-precision numbers. MPI-3 has no such type, so
 * frameworks bring an op that takes two opaque bytes (Horovod: float16_sum in common/half.cc). What
 * it does is found by trying it on numbers. */
#ifndef CGX_MPI_OPS_H
#define CGX_MPI_OPS_H

#include <stdbool.h>

#include "mpi/table.h"
enum cgx_op_class { CGX_OP_UNKNOWN, CGX_OP_SUM_FLOAT16, CGX_OP_SUM_BFLOAT16 };

struct cgx_op_source {
    cgx_mpi_function *function;
    bool commute;
    bool large;         /* a cgx_mpi_user_function_c */
    const void *caller; /* an address within the object that created the op */
};

/* OP was just created. At most CGX_OPS_MAX ops that may be sums are remembered at a time; others
 * stay CGX_OP_UNKNOWN. */
#define CGX_OPS_MAX 64
void cgx_op_created(cgx_mpi_op op, const struct cgx_op_source *source);

/* OP or DATATYPE is about to be freed: its handle may come to name another. */
void cgx_op_freed(cgx_mpi_op op);
void cgx_op_type_freed(cgx_mpi_datatype datatype);

/* By a comparison alone; the same on all ranks. */
bool cgx_op_is_user(cgx_mpi_op op);

/* What OP does with DATATYPE, which has two bytes. The first time its function is called on some
 * pairs of numbers, in buffers of our own, which it must not leave; later the answer is looked up.
 * Never called, and CGX_OP_UNKNOWN: ops that do not commute; ops of mpi4py, of MPI's C++ bindings
 * and of code that was generated at run time, since these run an interpreter or do not take C's
 * arguments; also whatever comes after four types for one op. The answer may differ between ranks
 * that do not run the same program. Thread-safe. */
enum cgx_op_class cgx_op_probe(cgx_mpi_op op, cgx_mpi_datatype datatype);

#endif
