/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What it costs to look at the data of an exact call (pmpi/guard.h), in host memory, beside copying
 * its buffer once. The call itself, which MPI does, is left out:
 *
 *     bench/guard
 *
 * Prints for each size the medians in microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmpi/exact.h"
#include "pmpi/guard.h"
#include "times.h"

enum { ROUNDS = 101, RANKS = 4 };

int __wrap_cgx_exact(const struct cgx_call *call, enum cgx_reason reason);

int __wrap_cgx_exact(const struct cgx_call *call, enum cgx_reason reason)
{
    (void)call, (void)reason;
    return CGX_MPI_SUCCESS;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void measure(size_t mebibytes, bool in_place, float *input, float *sum)
{
    static double looks[ROUNDS], copies[ROUNDS];
    size_t bytes = mebibytes << 20;
    const struct cgx_call call = {.sendbuf = in_place ? cgx_mpi()->IN_PLACE : input,
                                  .recvbuf = sum,
                                  .count = (cgx_mpi_count)(bytes / sizeof(float)),
                                  .datatype = cgx_mpi()->FLOAT,
                                  .op = cgx_mpi()->SUM,
                                  .type = CGX_TYPE_FLOAT32,
                                  .comm = cgx_mpi()->COMM_WORLD};
    struct cgx_guard guard = {.ranks = RANKS, .recent = cgx_recent_create(CGX_RECENT_EXACT)};
    uint32_t words[CGX_CONSENSUS_WORDS];
    double look, copy;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        double begun = now();

        memcpy(sum, input, bytes);
        copies[round] = now() - begun;
        begun = now();
        guard.places = round / 4; /* looks follow each other */
        cgx_guard_exact(&call, CGX_REASON_LOOKED_AT, &guard, words);
        looks[round] = now() - begun;
    }
    free(guard.recent);
    look = bench_median(looks, ROUNDS);
    copy = bench_median(copies, ROUNDS);
    printf("%4zu MiB, %-13s look %8.1f us, copy %9.1f us, ratio %.4f\n", mebibytes,
           in_place ? "in place:" : "two buffers:", look, copy, look / copy);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 4, 16, 128};
    static float input[((size_t)128 << 20) / sizeof(float)];
    static float sum[sizeof input / sizeof *input];

    MPI_Init(&argc, &argv);
    cgx_mpi_find(__builtin_return_address(0));
    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        input[i] = sum[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        measure(sizes[i], false, input, sum);
        measure(sizes[i], true, input, sum);
    }
    MPI_Finalize();
    return 0;
}
