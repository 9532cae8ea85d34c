/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds which of the program's own ops are sums of half-precision numbers. MPI-3 has no such type,
 * so frameworks create an op for two opaque bytes (Horovod: float16_sum in common/half.cc). The op
 * is tested on elements of the call. */
#ifndef CGX_MPI_OPS_H
#define CGX_MPI_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/op_probe.h"
#include "mpi/table.h"

/* Records that OP was created. At most CGX_OPS_MAX ops that may be sums are remembered; others are
 * CGX_OP_OTHER. */
#define CGX_OPS_MAX 64
void cgx_op_created(cgx_mpi_op op, const struct cgx_op_source *source);

/* OP or DATATYPE is about to be freed, and its handle may be reused. */
void cgx_op_freed(cgx_mpi_op op);
void cgx_op_type_freed(cgx_mpi_datatype datatype);

/* By comparison only; the same on all ranks. */
bool cgx_op_is_user(cgx_mpi_op op);

/* What is known of OP on DATATYPE, of two bytes. Always CGX_OP_OTHER: ops that do not commute; ops
 * of mpi4py, of MPI's C++ bindings and of generated code, since these run an interpreter or do not
 * take C's arguments; and any fifth type of an op. Thread-safe. */
enum cgx_op_class cgx_op_known(cgx_mpi_op op, cgx_mpi_datatype datatype);

/* Likewise, but tests an unknown op: calls its function on COUNT WORDS, elements of the program
 * that the op is about to sum, in the library's own buffers. Later the answer is looked up. It may
 * differ between ranks, as their elements do. Thread-safe. */
enum cgx_op_class cgx_op_ask(cgx_mpi_op op, cgx_mpi_datatype datatype, const uint16_t *words,
                             size_t count);

/* Adds COUNT ELEMENTS, which may be misaligned, to SEEN, zeros at first. SUM: which of the two
 * types they have. */
void cgx_op_scan(enum cgx_op_class sum, const void *elements, size_t count,
                 struct cgx_op_extremes *seen);

/* What is known of OP on DATATYPE if RANKS ranks sum elements that are all in SEEN. Tests the op
 * again if an element is larger than tested so far, or the first infinity or NaN. An op that fails
 * is CGX_OP_OTHER for ever. May differ between ranks. Thread-safe. */
enum cgx_op_class cgx_op_confirm(cgx_mpi_op op, cgx_mpi_datatype datatype, unsigned ranks,
                                 const struct cgx_op_extremes *seen);

/* ---- ops of large counts ---- */

/* Provides MPI_Op_create_c for an MPI library that lacks it. mpi4py takes the exported function as
 * proof that the MPI has it. */

/* A function for MPI_Op_create that calls FUNCTION with its arguments unchanged, in any ABI; the
 * same one for the same FUNCTION, so it outlives every op. NULL after CGX_OP_LARGE_MAX different
 * ones. Thread-safe. */
#define CGX_OP_LARGE_MAX 64 /* mpi4py has 32 */
cgx_mpi_user_function *cgx_op_from_large(cgx_mpi_user_function_c *function);

#endif
