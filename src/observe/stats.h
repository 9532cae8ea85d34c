/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_STATS: what was done with the calls of each communicator, layer by layer; cgx-stats(5) says
 * what each number means. Kept for as many layers as a step can have calls and written when the
 * process ends, and now and then while it runs. Everywhere NULL stands for a
 * communicator whose statistics are not kept: then nothing is done. One thread uses a communicator
 * at a time; another may be writing meanwhile. */
#ifndef CGX_OBSERVE_STATS_H
#define CGX_OBSERVE_STATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "coll/coll.h"
#include "mpi/types.h"
#include "observe/check.h"
#include "observe/reason.h"
#include "policy/step/recurrence.h"
#include "policy/widths/adapt.h"

/* Changes of widths kept of each layer, and choices of each communicator: the first so many and the
 * last so many. */
#define CGX_STATS_CHANGES 32

/* Layers of a communicator; what there is beyond is counted as one. */
#define CGX_STATS_LAYERS (CGX_STEP_LONGEST + 1024)
#define CGX_STATS_SLOTS (2 * 8192) /* a power of two, well above */

/* Communicators that are kept after they were freed; what there is beyond is counted as one. */
#define CGX_STATS_ENDED 64

/* ---- what is kept; for the writer ---- */

enum cgx_stats_cause { CGX_STATS_BASE, CGX_STATS_PERIOD, CGX_STATS_GUARD };

/* Widths that were in force from a call on. */
struct cgx_stats_change {
    uint64_t step; /* since the layers of the step were made */
    uint64_t call; /* compressed calls of the layer before */
    enum cgx_stats_cause cause;
    uint32_t hash;        /* of the plan */
    char *widths;         /* "120x3,4x8": segments and their widths; NULL: memory was short */
    double error, budget; /* estimated squared errors; NaN: none was made */
    uint64_t checked;     /* calls that were compared, and their squared error, which is of elements
                           * over their scales of history, as what was estimated is */
    double square;
};

/* Sums of a layer that were observed at a width of their own, without residuals or history. */
struct cgx_stats_trial {
    unsigned bits; /* 0: none were */
    uint64_t calls;
    double seconds, sent;
    uint64_t compared; /* and of these, as in a layer: */
    double square, norm;
};
#define CGX_STATS_TRIALS 2

/* With CGX_ENABLE=observe calls are not compressed but observed: compressed beside an exact one. */
struct cgx_stats_layer {
    /* Without a position: all calls alike whose widths are fixed, or whose position is not known;
     * with one, without a rule. */
    struct cgx_callsite_key key;
    enum cgx_type_class type;
    size_t segments;
    uint64_t compressed, exact, redone, failed; /* compressed, or observed */
    double seconds;
    double plain_seconds; /* of the exact sums beside those that were observed */
    struct cgx_stats_trial trials[CGX_STATS_TRIALS];
    double residuals;         /* bytes of memory, in the last call that had any */
    double history;           /* likewise */
    double sent, plain, base; /* bytes by this rank: sent; and what the two alternatives send */
    double error, budget;     /* at the last plan, as in a change; NaN: none */
    uint64_t checked, beyond;
    double square, norm; /* squared errors and squared exact sums of the calls that were compared */
    uint64_t nchanges;
    struct cgx_stats_change *changes; /* cgx_stats_place */
};

/* A choice of the widths of all layers. */
struct cgx_stats_choice {
    uint64_t step; /* as in a change */
    enum cgx_stats_cause cause;
    double over; /* estimated error over budget: the mean of the steps since; NaN: none was seen */
};

/* Steps whose mean error over budget is compared with that of others. */
#define CGX_STATS_WINDOW 16

struct cgx_stats_count {
    uint64_t calls, elements;
};

struct cgx_stats {
    struct cgx_stats *next;
    pthread_mutex_t lock; /* of all that follows, but for what is set at creation */
    bool ended;           /* the communicator was freed */
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    int rank, size;
    struct cgx_stats_count placed, unplaced; /* compressed calls, by whether they had a position */
    struct cgx_stats_count exact[CGX_REASONS]; /* of those of 1024 elements and more, by reason */
    enum cgx_evidence evidence; /* that the communicator's sums are those of steps, ... */
    uint64_t established;       /* ... after so many large ones */
    size_t step;                /* positions of the step; 0: none is known */
    uint64_t steps;             /* that have begun; while none is known, large calls */
    uint64_t blocked;           /* verdicts of a consensus */
    uint64_t plans, guards;     /* choices of widths, and those of them that the guard asked for */
    double over;      /* estimated error over budget of all layers: the mean of the steps since the
                       * last choice after which any was seen; NaN: none was */
    double most_over; /* the highest mean of CGX_STATS_WINDOW steps one after the other, likewise */
    uint64_t since, seen;            /* steps with an estimate: since the last choice, and all */
    double recent[CGX_STATS_WINDOW]; /* estimates of the last ones, by number of the step */
    struct cgx_stats_choice choices[2 * CGX_STATS_CHANGES]; /* cgx_stats_place */
    struct cgx_stats_layer other; /* the calls of all for which there is no room */
    size_t nlayers;
    uint32_t slots[CGX_STATS_SLOTS]; /* index of a layer + 1, by hash; 0: free */
    struct cgx_stats_layer layers[CGX_STATS_LAYERS];
};

/* Where the one with NUMBER, below COUNT, is kept: the first CGX_STATS_CHANGES and, behind them,
 * the last ones. SIZE_MAX: it is not. */
static inline size_t cgx_stats_place(uint64_t number, uint64_t count)
{
    if (number < CGX_STATS_CHANGES)
        return (size_t)number;
    if (number + CGX_STATS_CHANGES < count)
        return SIZE_MAX;
    return CGX_STATS_CHANGES + (size_t)(number % CGX_STATS_CHANGES);
}

/* The change with NUMBER, below nchanges, if it is kept. */
static inline struct cgx_stats_change *cgx_stats_change(const struct cgx_stats_layer *layer,
                                                        uint64_t number)
{
    size_t place = cgx_stats_place(number, layer->nchanges);

    return place == SIZE_MAX ? NULL : &layer->changes[place];
}

/* The last one; NULL: there was none. */
static inline struct cgx_stats_change *cgx_stats_last(const struct cgx_stats_layer *layer)
{
    return layer->nchanges ? cgx_stats_change(layer, layer->nchanges - 1) : NULL;
}

/* ---- keeping it ---- */

/* For COMM; NULL if statistics are not wanted or memory is short. */
struct cgx_stats *cgx_stats_create(cgx_mpi_comm comm, int rank, int size);

/* The communicator is freed: what is known of it is kept up to the end of the program. */
void cgx_stats_end(struct cgx_stats *stats);

/* What was seen of a call that was observed, beside what is counted of it in any case. */
struct cgx_stats_observed {
    int64_t plain; /* nanoseconds of the exact sum */
    unsigned bits; /* width that it was observed at as well; 0: none, and at that: */
    size_t sent;
    int64_t nanoseconds;
    struct cgx_checked checked;
};

/* A call of the site KEY that was run as COLL and took so many NANOSECONDS; OBSERVED is NULL where
 * the caller has got its result. */
void cgx_stats_compressed(struct cgx_stats *stats, struct cgx_callsite_key key,
                          const struct cgx_coll *coll, enum cgx_outcome outcome,
                          int64_t nanoseconds, const struct cgx_checked *checked,
                          const struct cgx_stats_observed *observed);

/* A call that recurs and was exact, not done again. */
void cgx_stats_exact(struct cgx_stats *stats, struct cgx_callsite_key key);

/* Ranks have found a consensus in a call, which stays exact for a while. */
void cgx_stats_blocked(struct cgx_stats *stats);

/* A call of so many ELEMENTS was exact. */
void cgx_stats_reason(struct cgx_stats *stats, enum cgx_reason reason, uint64_t elements);

/* What is known of the step when a call comes, which may be its first. Writes the statistics
 * each 10 steps of all communicators up to the 100th and then each 100; where none are followed,
 * each call that could be compressed is one. */
void cgx_stats_step(struct cgx_stats *stats, const struct cgx_recurrence *recurrence,
                    bool begins_step);

/* A step has gone by, in which the estimated error was so much OVER the budget; NaN: not known. */
void cgx_stats_over(struct cgx_stats *stats, double over);

/* Widths were chosen for the layers of the step. */
void cgx_stats_plan(struct cgx_stats *stats, const struct cgx_recurrence *recurrence,
                    const struct cgx_adapt *adapt, enum cgx_adapt_due due);

/* ---- writing it ---- */

/* In the first call of the process that is RANK of the SIZE of MPI_COMM_WORLD. Nothing is written
 * before, nor by a process that is forked from this one. */
void cgx_stats_begin(int rank, int size);

/* What the process is doing when its statistics are written. */
enum cgx_stats_when {
    CGX_STATS_RUNS,
    CGX_STATS_FINALIZES,
    CGX_STATS_ABORTS,
    CGX_STATS_EXITS,
    CGX_STATS_TERMINATES /* SIGTERM has come */
};

/* On every rank of MPI_COMM_WORLD: those whose affair it is write where CGX_STATS says, but a table
 * only when the process ends. No MPI is called. What cannot be written is an error line. Once it
 * ends nothing more is written; where it aborts, exits or terminates, nothing is either if a thread
 * is in the middle of counting: then the result is false. */
bool cgx_stats_write(enum cgx_stats_when when);

struct cgx_stats_world {
    int rank, size;
    int64_t begun; /* cgx_trace_clock in the first call */
    enum cgx_stats_when when;
    struct cgx_stats *communicators;
    size_t merged; /* communicators, and their calls */
    struct cgx_stats_layer rest;
};

/* stats_json.c, stats_table.c: write WORLD to OUT. */
void cgx_stats_json(FILE *out, const struct cgx_stats_world *world);
void cgx_stats_table(FILE *out, const struct cgx_stats_world *world);

/* For both: a part of something, 0 of nothing. */
static inline double cgx_stats_ratio(double value, double to)
{
    return value == 0 ? 0 : value / to;
}

#endif
