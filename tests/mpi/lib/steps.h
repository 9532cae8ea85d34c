/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that sums the same buffers again and again, with new data in every step, and what came
 * of its last step. Where there are several ranks, all get the same answers. */
#ifndef TESTS_MPI_LIB_STEPS_H
#define TESTS_MPI_LIB_STEPS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"
#include "placed.h"

#define STEPS_PARTS 26

/* A tensor. */
struct steps_part {
    size_t count;
    enum data_kind kind;
    double scale;
    double common; /* what part of its values is the same on all ranks, 0 to 1 */
    bool joined;   /* in one buffer with the part before it */
};

/* Of one part, in the last step. */
struct steps_found {
    double square; /* squared error */
    bool exact;    /* to the bit what PMPI_Allreduce gives (float32 only) */
    bool ordered;  /* to the bit the sum in the type's arithmetic, in the order of the ranks */
};

/* Counts and digests are those of all ranks. */
struct steps {
    MPI_Comm comm;
    enum element type;
    enum place place; /* of all buffers */
    unsigned least;   /* the least width that may be used */
    uint64_t taken;   /* the steps so far: seeds the data */
    size_t nparts;
    struct steps_part parts[STEPS_PARTS];
    struct steps_found found[STEPS_PARTS];
    uint64_t messages, bytes;
    uint64_t collectives; /* see collectives.h */
    uint64_t digest;      /* of all results so far */
};

/* On a new duplicate of COMM that returns errors; float32 in host memory. */
void steps_begin(struct steps *steps, MPI_Comm comm, const struct steps_part *parts, size_t nparts);
void steps_end(struct steps *steps);

/* One step: a call of MPI_Allreduce for each buffer, in place now and then. True if all succeed,
 * give the same bytes on all ranks, are not finite where the exact sum is not, and elsewhere, if
 * they are max-min quantised, within the error that quantisations at the least width allow
 * (oracle.h). Says on stderr what is not so. */
bool steps_take(struct steps *steps);

/* N of them; of both, in turn. */
bool steps_take_all(struct steps *steps, int n);
bool steps_take_both(struct steps *steps, struct steps *other, int n);

/* Parts in all calls of the last step that were exact. */
size_t steps_exact(const struct steps *steps);

#endif
