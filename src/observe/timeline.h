/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_TRACE: one timeline of all ranks, written by rank 0 of MPI_COMM_WORLD in MPI_Finalize, or one
 * of each rank where the name has "%r". util/trace.h has the events.
 *
 * Ranks send theirs only where all of MPI_COMM_WORLD is known to take part: that is found in the
 * first call on a communicator of all ranks, with the agreement about settings. Else rank 0 would
 * wait in MPI_Finalize for a rank that has no library, no CGX_TRACE, or nothing to sum; it then
 * writes its own events alone. */
#ifndef CGX_OBSERVE_TIMELINE_H
#define CGX_OBSERVE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "coll/coll.h"
#include "mpi/types.h"
#include "util/trace.h"

/* Of an event's bits, besides widths. */
#define CGX_TIMELINE_ADAPTIVE 254
#define CGX_TIMELINE_SEVERAL 255

/* ---- recording ---- */

/* Runs COLL, which takes *ELAPSED nanoseconds. */
enum cgx_outcome cgx_timeline_run(struct cgx_coll *coll, int64_t *elapsed);

/* An exact call of COUNT elements on a communicator whose calls may be compressed; nothing is done
 * where BEGUN is 0. */
void cgx_timeline_exact(int64_t begun, uint64_t count, enum cgx_type_class type);

/* ---- who takes part ---- */

/* What ranks compare: 0 where there is no timeline. */
uint32_t cgx_timeline_word(void);

/* Call after the settings agreement. ALIKE: all ranks of COMM trace in the same mode. Events are
 * recorded from now on, if CGX_TRACE is set. */
void cgx_timeline_meet(cgx_mpi_comm comm, bool alike);

/* ---- writing ---- */

/* In MPI_Finalize, on every rank RANK of the SIZE of MPI_COMM_WORLD. What cannot be written is an
 * error line. */
void cgx_timeline_write(int rank, int size);

/* What is known of a rank whose events are written. */
struct cgx_timeline_rank {
    int rank;
    int64_t shift; /* nanoseconds from its clock to the time in the file */
    int64_t error; /* how far that may be off */
    size_t kept;   /* events */
    uint64_t dropped;
    int64_t first; /* where the first event begins, by its clock; INT64_MAX: there is none */
};

/* What a rank brings to the timeline. */
struct cgx_timeline_events {
    struct cgx_timeline_rank about;
    const struct cgx_trace_event *events;
};

/* timeline_gather.c: on every rank but 0, to that, if no rank lacks what it takes, which a
 * reduction on MPI_COMM_WORLD says. When it is over every rank is in MPI_Finalize, and no receive
 * of the program's can take what is sent then. */
void cgx_timeline_send(const struct cgx_timeline_events *mine);

/* On rank 0, after the same reduction: writes the file of SIZE ranks, of which MINE is this one.
 * RANKS and ROOM, for the events of one rank, must stay where they are if MPI's error is returned,
 * for it may write there later; what it did not bring is left out. */
int cgx_timeline_gather(FILE *file, const struct cgx_timeline_events *mine,
                        struct cgx_timeline_rank *ranks, int size, struct cgx_trace_event *room);

/* timeline_write.c: the file in its parts, in this order; IS_FIRST: of the ranks. */
void cgx_timeline_put_head(FILE *out, const struct cgx_timeline_rank *ranks, size_t nranks);
void cgx_timeline_put_rank(FILE *out, const struct cgx_timeline_rank *rank,
                           const struct cgx_trace_event *events, bool is_first);
void cgx_timeline_put_tail(FILE *out);

#endif
