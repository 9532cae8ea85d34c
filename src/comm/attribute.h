/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A communicator's attribute, which holds its state. Thread-safe. */
#ifndef CGX_COMM_ATTRIBUTE_H
#define CGX_COMM_ATTRIBUTE_H

#include "mpi/table.h"

struct cgx_comm;

/* Attaches STATE to COMM, which has no state yet. When COMM is freed, MPI calls END, which must
 * call cgx_attribute_end. Returns MPI's code. */
int cgx_attribute_set(cgx_mpi_comm comm, struct cgx_comm *state, cgx_mpi_attribute_end *end);
void cgx_attribute_end(void);

/* Takes the state off COMM, which has one: MPI calls END, which must do nothing now. Whoever has
 * the state then attaches it again, or calls cgx_attribute_end, or both. Returns MPI's code. */
int cgx_attribute_remove(cgx_mpi_comm comm);

/* *STATE: the state of COMM, NULL if it has none. Returns MPI's code. */
int cgx_attribute_get(cgx_mpi_comm comm, struct cgx_comm **state);

#endif
