/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Makes the calls that were drawn. */
#ifndef TESTS_STORM_MAKE_H
#define TESTS_STORM_MAKE_H

#include <mpi.h>

#include "draw.h"

const char *make_name(enum storm_what what);

/* The element type by which data of a call is made and told. */
enum element make_type(enum storm_what what);

/* CALL, with the data of SEED, as a sum; of the same type, op and data on all ranks of COMM. */
struct placed make_sum(const struct storm_call *call, uint64_t seed);

/* Makes it into RESULT; false as in placed_sum. */
bool make_call(const struct storm_call *call, const struct placed *sum, MPI_Comm comm,
               void *result);

/* Whether it is a sum of float32 or float16. */
bool make_is_sum(enum storm_what what);

/* Makes zeros of the elements of a result, of COUNT, that MPI leaves as they are. */
void make_clear_gaps(enum storm_what what, size_t count, void *result);

/* Before MPI_Finalize. */
void make_end(void);

/* ---- communicators ---- */

enum make_comm {
    MAKE_WORLD,
    MAKE_DUP,
    MAKE_REVERSED,
    MAKE_SPLIT,  /* even and odd ranks */
    MAKE_MOST,   /* all ranks but the last */
    MAKE_BLOCKS, /* the first three ranks, and the others */
    MAKE_COMMS
};

const char *make_comm_name(enum make_comm kind);

/* Collective in the world; its name is that. MPI_COMM_NULL where this rank is in none; *GROUP tells
 * communicators apart that were made together. To be freed, but for the world. */
MPI_Comm make_comm(enum make_comm kind, int *group);

#endif
