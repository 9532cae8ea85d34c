/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Plays the sums of a program as it would make them, and sees what comes of each: whether it is to
 * the bit what PMPI_Allreduce gives, which the library does not see, and the same on all ranks. */
#ifndef TESTS_MPI_LIB_PLAYER_H
#define TESTS_MPI_LIB_PLAYER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a sum is of. */
enum player_kind {
    PLAYER_GRADIENT,
    PLAYER_WEIGHTS, /* or other state, which must be exact */
    PLAYER_KINDS
};

/* Of sums while they were watched. */
struct player_tally {
    double elements;
    double compressed; /* those of sums that have any element with other bits */
    double sums, compressed_sums;
};

struct player {
    MPI_Comm comm; /* a duplicate of MPI_COMM_WORLD */
    int rank, ranks;
    bool watched;  /* sums are compared with PMPI_Allreduce and counted */
    uint64_t sums; /* so far: seeds the data */
    uint64_t digest;
    bool right; /* no call failed, and all ranks had the same bytes at the end of every step */
    struct player_tally tallies[PLAYER_KINDS];
    size_t room;
    float *input, *result, *exact;
    bool on_device; /* set before the first sum: where sums are made */
    void *device;
};

/* A sum in place: the caller writes COUNT elements to what player_input returns, then sums them.
 * Returns the sum. Both are the player's. */
float *player_input(struct player *player, size_t count);
const float *player_sum_input(struct player *player, enum player_kind kind, size_t count);

/* A program, step by step. Weights are watched from the first step on, gradients from WATCHED_FROM
 * on; PLAY may unset player->watched for the rest of a step. */
struct player_stream {
    const char *name;
    void (*play)(struct player *player, unsigned step);
    unsigned steps, watched_from;
    double least, most; /* of gradients compressed, in percent */
};

/* All of main: plays the stream of N that is called ARGV[1], or all of them. No sum of weights
 * may be compressed. Buffers are on a device where ARGV[2] is "device". */
int player_main(int argc, char **argv, const struct player_stream *streams, size_t n);

#endif
