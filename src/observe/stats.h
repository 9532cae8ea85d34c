/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_STATS: what was done with the calls of each communicator, layer by layer. cgx-stats(5)
 * explains each number. There is space for as many layers as a step can have calls. Statistics are
 * written now and then while the process runs, and when it ends. Threads take turns (observe.c). */
#ifndef CGX_OBSERVE_STATS_H
#define CGX_OBSERVE_STATS_H

#include <stdio.h>

#include "observe/record.h"

/* The most layers of a communicator. */
#define CGX_STATS_LAYERS (CGX_STEP_LONGEST + 1024)

/* The most freed communicators that are kept. */
#define CGX_STATS_ENDED 64

/* ---- the numbers; for the writers ---- */

/* With CGX_ENABLE=observe calls are not compressed but observed: compressed besides an exact call.
 */
struct cgx_stats_layer {
    /* Without a position: all equal calls of which nothing is kept or whose position is unknown.
     * With a position the rule is 0. */
    struct cgx_callsite_key key;
    enum cgx_type_class type;
    uint64_t compressed, redone, failed; /* calls; COMPRESSED: or observed */
    double seconds;
    double plain_seconds; /* of the exact sums of observed calls */
    double sent, plain;   /* bytes that this rank sent, or would send uncompressed */
    uint64_t quantised;   /* calls with uniformly quantised elements, and ... */
    double errors;        /* ... the relative squared errors of these, added */
    uint64_t compared;    /* observed calls, with sums of squares: */
    double square, norm;  /* of errors and of exact sums */
};

struct cgx_stats {
    struct cgx_stats *next;
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    int size;
    enum cgx_evidence evidence; /* that the communicator's sums are of steps ... */
    uint64_t established;       /* ... after this many large sums */
    size_t step;                /* length of the step; 0: unknown */
    uint64_t unlisted;          /* calls of further layers */
    size_t nlayers, last;       /* LAST: of the last call */
    struct cgx_stats_layer layers[CGX_STATS_LAYERS];
};

/* ---- counting ---- */

/* The statistics of COMM, new; NULL if none are wanted or memory is short. */
struct cgx_stats *cgx_stats_create(cgx_mpi_comm comm, int size);

/* The communicator was freed; its statistics, unless NULL, are kept until the program ends. */
void cgx_stats_end(struct cgx_stats *stats);

/* Counts a call that ran compressed; stats.c, for cgx_observe. */
void cgx_stats_count(struct cgx_stats *stats, const struct cgx_record *record);

/* Takes what RECURRENCE knows of the step when a call comes; BEGINS_STEP: the call begins a step.
 * Writes the statistics every 10 steps of all communicators up to the 100th, then every 100. While
 * no step is known, each call that could be compressed counts as one. */
void cgx_stats_step(struct cgx_stats *stats, const struct cgx_recurrence *recurrence,
                    bool begins_step);

/* ---- writing ---- */

/* In the first call of the process. Nothing is written before, nor by processes that are forked
 * from this one. */
void cgx_stats_begin(void);

/* What the process is doing when statistics are written. */
enum cgx_stats_when { CGX_STATS_RUNS, CGX_STATS_FINALIZES, CGX_STATS_ABORTS, CGX_STATS_EXITS };

/* On every rank of MPI_COMM_WORLD: writes the statistics if CGX_STATS names a file for this rank.
 * Calls no MPI. Logs an error if writing fails. Once the end is written, nothing more is. If the
 * process aborts or exits while a thread is counting for long, nothing is written. */
void cgx_stats_write(enum cgx_stats_when when);

struct cgx_stats_world {
    int64_t begun; /* cgx_trace_clock in the first call */
    enum cgx_stats_when when;
    struct cgx_stats *communicators;
    size_t unlisted; /* number of further communicators that were freed */
};

/* stats_json.c: writes the struct cgx_stats_world at WORLD to OUT. */
void cgx_stats_json(FILE *out, const void *world);

#endif
