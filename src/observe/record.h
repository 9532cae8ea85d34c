/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What has become of a call, filled while it is served; cgx_observe is the only way from there to
 * totals, statistics, the timeline and notices. */
#ifndef CGX_OBSERVE_RECORD_H
#define CGX_OBSERVE_RECORD_H

#include <stddef.h>
#include <string.h>

#include "mpi/request.h"
#include "observe/reason.h"
#include "policy/look.h"
#include "policy/plan.h"
#include "policy/step/recurrence.h"
#include "policy/step_size.h"
#include "util/status.h"

/* By cgx_trace_clock; zeros: it was not measured. */
struct cgx_span {
    int64_t begun, ended;
};

struct cgx_record {
    const struct cgx_request *request;
    int rank, ranks; /* of its communicator; no ranks: it compresses no calls, or it is unknown */
    const struct cgx_callsite_key *site; /* NULL: unknown */
    bool recurs;
    enum cgx_reason memory; /* why CGX_BUFFERS excludes its buffers */
    enum cgx_reason reason; /* why the caller's result is exact; CGX_REASON_NONE: it is not */
    bool large;             /* exact floats that are not too few to be compressed */
    struct cgx_span exact;
    unsigned looks; /* at data so far, in the call after which rank 0 says so; otherwise 0 */
    const struct cgx_plan *plan; /* NULL: the call did not run compressed */
    /* Set if it did, whether or not the caller has that result: */
    enum cgx_outcome outcome;
    struct cgx_span run;
    unsigned slices;
    size_t sent;                    /* bytes of the messages that this rank sent */
    struct cgx_quantised quantised; /* if it is done */
    enum cgx_look look;             /* what this rank's input shows */
    bool compared;                  /* with the exact sum; sums of squares: */
    double square, norm;            /* of errors and of exact sums */
};

/* Exact calls do not pay for what compressed ones set. */
static inline void cgx_record_begin(struct cgx_record *record, const struct cgx_request *request)
{
    memset(record, 0, offsetof(struct cgx_record, outcome));
    record->request = request;
}

static inline int64_t cgx_span_nanoseconds(const struct cgx_span *span)
{
    return span->ended - span->begun;
}

struct cgx_stats;

/* Takes RECORD, of a call that has ended without an error, or is about to fail because of
 * compression. STATS are its communicator's; NULL: it has none. */
void cgx_observe(struct cgx_stats *stats, const struct cgx_record *record);

/* ---- CGX_TRACE (timeline.c) ----
 *
 * The timeline of this rank, which it writes in MPI_Finalize into a file of its own: the setting's
 * name with the rank for "%r" or, without that, behind it. cgx-report(1) merges the files.
 * util/trace.h has the events. */

/* Records events from now on, if CGX_TRACE is set. */
void cgx_timeline_begin(void);

/* Records the sums of a call, compressed and exact; for cgx_observe. */
void cgx_timeline_record(const struct cgx_record *record);

/* In MPI_Finalize, on every rank of MPI_COMM_WORLD. Logs an error if writing fails. */
void cgx_timeline_write(void);

#endif
