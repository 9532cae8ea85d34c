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
    PLAYER_GRADIENT, /* a signal that all ranks have, and as much noise of each */
    PLAYER_MOMENT,   /* the same, less of the noise: averages of gradients */
    PLAYER_WEIGHTS,  /* the same on all ranks, but for a hundredth */
    PLAYER_SQUARES,  /* positive, of all sizes: second moments, counts, variances */
    PLAYER_KINDS
};

/* Elements of sums of CGX_COMPRESSION_MINIMAL_SIZE and more while it was watched. */
struct player_tally {
    double elements;
    double compressed; /* those of sums that have any element with other bits */
    double sums, compressed_sums;
};

struct player {
    MPI_Comm comm;
    int rank, ranks;
    size_t minimal; /* elements */
    bool watched;   /* sums are compared with PMPI_Allreduce and counted */
    uint64_t sums;  /* so far: seeds the data */
    uint64_t digest;
    bool right; /* no call failed, and all ranks had the same bytes at the end of every step */
    struct player_tally tallies[PLAYER_KINDS];
    size_t room;
    float *input, *result, *exact;
    bool on_device; /* set before the first sum: where sums are made */
    void *device;
};

/* On a duplicate of MPI_COMM_WORLD. */
void player_begin(struct player *player);
void player_end(struct player *player);

/* One MPI_Allreduce, in place, of COUNT elements. What ranks agree on is a function of TENSOR. */
void player_sum(struct player *player, enum player_kind kind, uint64_t tensor, size_t count);

/* The same of data that the caller makes: first writes COUNT elements to what player_input returns,
 * then sums them. Returns the sum. Both are the player's. */
float *player_input(struct player *player, size_t count);
const float *player_sum_input(struct player *player, enum player_kind kind, size_t count);

/* The end of a step, where the ranks compare what they have. */
void player_step(struct player *player);

/* Compressed elements of KIND in percent; 0 where there were none at all. */
double player_share(const struct player *player, enum player_kind kind);

/* A program, step by step. Weights and squares are watched from the first step on, gradients from
 * WATCHED_FROM on; PLAY may unset player->watched for the rest of a step. */
struct player_stream {
    const char *name;
    void (*play)(struct player *player, unsigned step);
    unsigned steps, watched_from;
    double least, most; /* of gradients compressed, in percent */
};

/* All of main: plays the stream of N that is called ARGV[1], or all of them. No sum of weights or
 * squares may be compressed. Buffers are on a device where ARGV[2] is "device". */
int player_main(int argc, char **argv, const struct player_stream *streams, size_t n);

#endif
