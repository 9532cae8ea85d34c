/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of test data in buffers that live anywhere, and the same sums in ordinary memory. */
#ifndef TESTS_MPI_LIB_PLACED_H
#define TESTS_MPI_LIB_PLACED_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"

/* DEVICE and MANAGED: of the context that is current when the buffer is made. */
enum place { PLACE_HOST, PLACE_PINNED, PLACE_DEVICE, PLACE_MANAGED, PLACES };

const char *place_name(enum place place);

/* Opens a device on every rank. False: some rank has none, or has a real driver though a SOFT one
 * is needed; then NAME is skipped. */
bool place_begin(const char *name, bool soft);

/* The same, for scenes. */
static inline bool place_any(const char *name)
{
    return place_begin(name, false);
}

/* A buffer of the BYTES at CONTENT; place_read copies it back, also while the program itself cannot
 * touch it. */
void *place_make(enum place place, const void *content, size_t bytes);
void place_read(enum place place, void *content, const void *buffer, size_t bytes);
void place_free(enum place place, void *buffer);

/* The sum of data_fill(kind, type, seed, rank) over all ranks. */
struct placed {
    enum data_kind kind;
    enum element type;
    uint64_t seed;
    size_t count;
    enum place from, to;
    bool in_place;         /* in TO */
    size_t ahead, further; /* bytes that the send and the receive buffer are misaligned by */
    MPI_Datatype datatype; /* 0: the type's own; COUNT elements may be fewer of these */
    MPI_Op op;             /* 0: MPI_SUM */
    bool large;            /* by MPI_Allreduce_c, if the MPI has it */
};

/* MPI_Allreduce. False if it failed, changed its send buffer or wrote outside its receive buffer.
 */
bool placed_sum(const struct placed *sum, MPI_Comm comm, void *result);

/* The same with aligned buffers in ordinary memory and in two of them. */
bool placed_reference(const struct placed *sum, MPI_Comm comm, void *result);

/* The same through PMPI_Allreduce. */
bool placed_exact(const struct placed *sum, MPI_Comm comm, void *result);

/* Whether placed_sum on COMM is compressed (which is seen in the messages that are sent), and gives
 * what placed_reference gives on OTHER, which has seen the same sequence of calls, and the same on
 * all ranks. Says on stderr what is not so. */
bool placed_agrees(const struct placed *sum, MPI_Comm comm, MPI_Comm other);

#endif
