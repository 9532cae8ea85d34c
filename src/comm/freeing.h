/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The communicators that this thread is freeing, one within the other: a delete function of the
 * program may free another communicator. */
#ifndef CGX_COMM_FREEING_H
#define CGX_COMM_FREEING_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/table.h"

struct cgx_comm;

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
