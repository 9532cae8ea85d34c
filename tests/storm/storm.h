/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a storm does, drawn from its seed: the same on all ranks, but for what a rank may choose for
 * itself. */
#ifndef TESTS_STORM_STORM_H
#define TESTS_STORM_STORM_H

#include "mpi/lib/bound.h"
#include "mpi/lib/check.h"

/* ---- drawing and making: draw.c ---- */

struct draw {
    uint64_t seed, stream, drawn;
};

/* Uniform, below N. */
uint64_t draw_below(struct draw *draw, uint64_t n);

/* True once in N. */
bool draw_once_in(struct draw *draw, uint64_t n);

enum storm_what {
    STORM_FLOAT32,
    STORM_FLOAT16,
    STORM_OPAQUE16, /* two bytes, summed as float16 by an op of the program's */
    STORM_SUMS,
    /* What is never compressed: */
    STORM_MAX = STORM_SUMS, /* float32 */
    STORM_PRODUCT,          /* float32 */
    STORM_INT,
    STORM_BITS, /* unsigned, by exclusive or */
    STORM_SHORT,
    STORM_DOUBLE,
    STORM_TRIPLES, /* float32, three in an element, summed by an op of the program's */
    STORM_GAPS,    /* likewise the first and third of four */
    STORM_WHATS
};

/* One tensor of a step, or a call that does not come again. */
struct storm_call {
    enum storm_what what;
    size_t count;
    enum data_kind kind;
    bool large; /* MPI_Allreduce_c */
    bool in_place;
    bool apart; /* ranks choose places, in place or not, and alignment for themselves */
    size_t ahead, further;
    enum place from, to;
};

/* What a job allows. */
struct storm_limits {
    size_t most;    /* elements */
    size_t minimal; /* fewer are exact */
    size_t layered; /* a count that rules tell the layers of; 0: none */
    bool devices;
};

struct storm_call draw_call(struct draw *draw, const struct storm_limits *limits);

/* The same call in another step: data may be of another kind once in a while. */
struct storm_call draw_again(struct draw *draw, const struct storm_call *call);

/* What this rank makes of a call that ranks make apart. */
struct storm_call draw_own(const struct storm_call *call, uint64_t seed, int rank,
                           const struct storm_limits *limits);

/* ---- making the calls that were drawn ---- */

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

/* ---- what a program says of a communicator's calls with MPI_Comm_set_info: rule.c ---- */

/* What is said of a call, in hints or in a rule. */
struct said {
    bool exact;
    enum { SAID_NOTHING, SAID_ALWAYS, SAID_NEVER } recurs;
    unsigned bits, layer_bits; /* 0: not said */
    const char *codec;         /* NULL: not said */
    bool op;                   /* op=float16 */
};

/* As in CGX_CODEC. */
const char *said_draw_codec(struct draw *draw);

struct hint {
    bool none; /* the communicator may have none */
    bool off;  /* cgx_enable is 0 */
    struct said said;
    char text[256]; /* all that was said: " key=value" for each */
    char next[256]; /* what is to be said next, likewise */
};

/* For a step of N CALLS. */
void hint_begin(struct hint *hint, struct draw *draw, const struct storm_call *calls, unsigned n,
                const struct storm_limits *limits);

/* Something else about the width. */
void hint_change(struct hint *hint, struct draw *draw);

/* Says it. */
void hint_give(struct hint *hint, MPI_Comm comm);

/* ---- what a user says in the file of CGX_RULES, and what of it holds beside hints: rule.c ---- */

/* Before MPI_Init: draws rules, and makes CGX_RULES a file that has them, of this process alone.
 * LIMITS has a count more then. */
void rules_begin(uint64_t seed, struct storm_limits *limits);

/* The lines of the file; none if it was not begun. */
const char *rules_text(void);

/* ORACLE, that of the environment, becomes what rules and hints leave of it, for a call on a
 * communicator of that name. Whether the call is exact; where rules depend on the position, which
 * is not known here, ORACLE is what they all allow. */
bool rules_apply(const struct hint *hint, const struct storm_call *call, const char *communicator,
                 struct oracle *oracle);

/* ---- the largest step that uniform quantisation may have for a sum: loudness.c ---- */

/* As far as the data of all sums of a communicator tells: no step is larger than that for the
 * loudest call before, or than that of the loudest 1024 elements of the call itself. */

/* SUM, of which this rank of COMM looks at a share. Collective. LOUDEST is the mean square of the
 * loudest sum of COMM so far, and becomes that with SUM. */
double loudness_step(const struct oracle *oracle, const struct placed *sum, MPI_Comm comm,
                     double *loudest);

/* ---- episodes ---- */

/* A communicator, the calls of a step on it, made again and again with other data, and hints about
 * them. Episodes take turns, and none depends on another, but for those on the world. */

/* On this rank; calls of several communicators that were made together count once. */
struct episode_tally {
    uint64_t calls, elements;
    uint64_t compressed; /* as their errors show */
    uint64_t exact;      /* what must be, by a setting, a hint, type, op or count ... */
    uint64_t compared;   /* ... and was compared with the MPI's own result, to the bit */
    uint64_t digest;     /* of all results */
};

struct episode;

/* Collective in the world, like all of these. WANTED false: it is drawn, and nothing is done. */
struct episode *episode_begin(uint64_t seed, uint64_t number, const struct storm_limits *limits,
                              bool wanted);
void episode_end(struct episode *episode);

/* The next call. If its result is not right that is said, and the job ends. False: there is none.
 */
bool episode_call(struct episode *episode, struct episode_tally *tally);

#endif
