/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A communicator, the calls of a step on it, made again and again with other data, and hints about
 * them. Episodes take turns, and none depends on another, but for those on the world. */
#ifndef TESTS_STORM_EPISODE_H
#define TESTS_STORM_EPISODE_H

#include "make.h"
#include "mpi/lib/oracle.h"

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

/* Blocks of uniform pieces in messages that kinds_count has seen, by kind (doc/format.md). */
extern uint64_t kinds_sent[16];
void kinds_count(const unsigned char *message, size_t bytes);

#endif
