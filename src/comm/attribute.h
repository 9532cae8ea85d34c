/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The attribute that a communicator's state is kept in. Threads may call all of these at once. */
#ifndef CGX_COMM_ATTRIBUTE_H
#define CGX_COMM_ATTRIBUTE_H

#include "mpi/table.h"

struct cgx_comm;

/* Gives COMM, which has none, the attribute STATE. When COMM goes END is called, which then calls
 * cgx_attribute_end. Returns MPI's code. */
int cgx_attribute_set(cgx_mpi_comm comm, struct cgx_comm *state, cgx_mpi_attribute_end *end);
void cgx_attribute_end(void);

/* *STATE: the attribute of COMM; NULL: it has none. Returns MPI's code. */
int cgx_attribute_get(cgx_mpi_comm comm, struct cgx_comm **state);

#endif
