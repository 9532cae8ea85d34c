/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_TRACE: one timeline of all ranks, which rank 0 of MPI_COMM_WORLD writes in MPI_Finalize, or
 * one of each rank if the name has "%r". util/trace.h has the events.
 *
 * Ranks send their events only if all of MPI_COMM_WORLD is known to take part: this is found in the
 * first call on a communicator of all ranks, with the agreement about settings. Otherwise rank 0
 * would wait in MPI_Finalize for a rank that has no library, no CGX_TRACE, or nothing to sum; so it
 * writes its own events alone. */
#ifndef CGX_OBSERVE_TIMELINE_H
#define CGX_OBSERVE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "coll/coll.h"
#include "mpi/types.h"
#include "util/trace.h"

/* Values of an event's bits besides widths. */
#define CGX_TIMELINE_ADAPTIVE 254
#define CGX_TIMELINE_SEVERAL 255

/* ---- recording ---- */

/* Runs COLL and sets *ELAPSED to the nanoseconds that it took. */
enum cgx_outcome cgx_timeline_run(struct cgx_coll *coll, int64_t *elapsed);

/* Records an exact call of COUNT elements on a communicator whose calls may be compressed; nothing
 * if BEGUN is 0. */
void cgx_timeline_exact(int64_t begun, uint64_t count, enum cgx_type_class type);

/* ---- who takes part ---- */

/* What ranks compare; 0: no timeline. */
uint32_t cgx_timeline_word(void);

/* Call after the settings agreement. ALIKE: all ranks of COMM trace in the same mode. Events are
 * recorded from now on, if CGX_TRACE is set. */
void cgx_timeline_meet(cgx_mpi_comm comm, bool alike);

/* ---- writing ---- */

/* In MPI_Finalize, on every RANK of the SIZE ranks of MPI_COMM_WORLD. Logs an error if writing
 * fails. */
void cgx_timeline_write(int rank, int size);

/* A rank whose events are written. */
struct cgx_timeline_rank {
    int rank;
    int64_t shift; /* nanoseconds from its clock to the time in the file */
    int64_t error; /* the most that the shift may be off */
    size_t kept;   /* number of events */
    uint64_t dropped;
    int64_t first; /* start of the first event, by its clock; INT64_MAX: none */
};

/* The events of a rank. */
struct cgx_timeline_events {
    struct cgx_timeline_rank about;
    const struct cgx_trace_event *events;
};

/* timeline_gather.c: sends the events of this rank to rank 0, unless a reduction on MPI_COMM_WORLD
 * shows that rank 0 cannot take them. Every rank is then in MPI_Finalize, so no receive of the
 * program can match these messages. */
void cgx_timeline_send(const struct cgx_timeline_events *mine);

/* On rank 0, after the same reduction: writes the file of SIZE ranks; MINE are this rank's events.
 * If MPI's error is returned, RANKS and ROOM (for the events of one rank) must stay, since MPI may
 * still write there; events that did not arrive are left out. */
int cgx_timeline_gather(FILE *file, const struct cgx_timeline_events *mine,
                        struct cgx_timeline_rank *ranks, int size, struct cgx_trace_event *room);

/* timeline_write.c: the parts of the file, in this order. IS_FIRST: this is the first rank. */
void cgx_timeline_put_head(FILE *out, const struct cgx_timeline_rank *ranks, size_t nranks);
void cgx_timeline_put_rank(FILE *out, const struct cgx_timeline_rank *rank,
                           const struct cgx_trace_event *events, bool is_first);
void cgx_timeline_put_tail(FILE *out);

#endif
