/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A communicator's attribute, which holds its state, and the communicators that a thread is
 * freeing, which have none. Thread-safe. */
#ifndef CGX_COMM_ATTRIBUTE_H
#define CGX_COMM_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

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

/* ---- the communicators that this thread is freeing ----
 *
 * One within the other: a delete function of the program may free another communicator. */

struct cgx_freeing {
    cgx_mpi_comm comm;
    struct cgx_comm *state; /* taken off COMM; NULL: none */
    uintptr_t frame;        /* __builtin_frame_address where it began */
};

/* False: too many. */
bool cgx_freeing_push(const struct cgx_freeing *begun);

/* Ends the freeing of COMM and returns its state; NULL if it has not begun. */
struct cgx_comm *cgx_freeing_pop(cgx_mpi_comm comm);

/* Whether COMM is being freed, seen from FRAME. What began deeper in the stack is dropped: an error
 * handler or delete function of the program has jumped out of MPI, and it never ends. */
bool cgx_freeing_has(cgx_mpi_comm comm, uintptr_t frame);

/* Whether a state was dropped, in any thread. */
bool cgx_freeing_lost(void);

#endif
