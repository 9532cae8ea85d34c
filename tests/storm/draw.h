/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a storm does, drawn from its seed: the same on all ranks, but for what a rank may choose for
 * itself. */
#ifndef TESTS_STORM_DRAW_H
#define TESTS_STORM_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/lib/placed.h"

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

#endif
