/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which of the program's own ops are sums of half-precision numbers. MPI-3 has no such type, so
 * frameworks bring an op that takes two opaque bytes (Horovod: float16_sum in common/half.cc). What
 * it does is found by trying it on elements of the call's own. */
#ifndef CGX_MPI_OPS_H
#define CGX_MPI_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/op_probe.h"
#include "mpi/table.h"

/* OP was just created. At most CGX_OPS_MAX ops that may be sums are remembered at a time; others
 * are CGX_OP_OTHER. */
#define CGX_OPS_MAX 64
void cgx_op_created(cgx_mpi_op op, const struct cgx_op_source *source);

/* OP or DATATYPE is about to be freed: its handle may come to name another. */
void cgx_op_freed(cgx_mpi_op op);
void cgx_op_type_freed(cgx_mpi_datatype datatype);

/* By a comparison alone; the same on all ranks. */
bool cgx_op_is_user(cgx_mpi_op op);

/* What is known of OP on DATATYPE, which has two bytes. CGX_OP_OTHER from the start: ops that do
 * not commute; ops of mpi4py, of MPI's C++ bindings and of code that was generated at run time,
 * since these run an interpreter or do not take C's arguments; also whatever comes after four types
 * for one op. Thread-safe. */
enum cgx_op_class cgx_op_known(cgx_mpi_op op, cgx_mpi_datatype datatype);

/* The same; if it is untold, the op's function is called on COUNT WORDS, elements of the program's
 * that the op is about to have, in buffers of our own. Once it is told the answer is looked up. It
 * may differ between ranks: their elements do. Thread-safe. */
enum cgx_op_class cgx_op_ask(cgx_mpi_op op, cgx_mpi_datatype datatype, const uint16_t *words,
                             size_t count);

/* Adds COUNT ELEMENTS, which may be misaligned, to what is SEEN, which begins as zeros. SUM says
 * which of the two types they have. */
void cgx_op_scan(enum cgx_op_class sum, const void *elements, size_t count,
                 struct cgx_op_extremes *seen);

/* What is known of OP on DATATYPE, where RANKS ranks sum elements of which all were SEEN. Where one
 * is larger than the op was asked about, or the first infinity or NaN, the op is asked again. Once
 * it does not sum these it is CGX_OP_OTHER for good. May differ between ranks. Thread-safe. */
enum cgx_op_class cgx_op_confirm(cgx_mpi_op op, cgx_mpi_datatype datatype, unsigned ranks,
                                 const struct cgx_op_extremes *seen);

/* ---- ops of large counts ---- */

/* MPI_Op_create_c for an MPI library that lacks it. mpi4py takes the function that this library
 * exports for a proof that there is one. */

/* A function for MPI_Op_create that calls FUNCTION; the same one for the same FUNCTION, so that it
 * outlives every op. NULL once CGX_OP_LARGE_MAX different ones have been asked for. Passes on what
 * it is given, whatever the ABI. Thread-safe. */
#define CGX_OP_LARGE_MAX 64 /* mpi4py has 32 */
cgx_mpi_user_function *cgx_op_from_large(cgx_mpi_user_function_c *function);

#endif
