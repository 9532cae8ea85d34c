/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "progress.h"
#include "sums.h"
#include <mpi.h>
#include <stdio.h>

enum { MOST_STEPS = 1000 };

static struct {
    int every, steps, step;
    int since;                 /* steps since the last line */
    double loss;               /* in these */
    double sums[MOST_STEPS];   /* seconds of this rank in the sums of each of these */
    double all_sums, sums_end; /* seconds in sums: of all ranks, until the last line; of this one */
} progress;

void progress_start(int every, int steps)
{
    progress.every = every < MOST_STEPS ? every : MOST_STEPS;
    progress.steps = steps;
    progress.sums_end = sums_cost().seconds;
}

/* By MPI_Reduce, so that the gradients alone are all-reduced. */
static void print_line(double seconds)
{
    double shortest[MOST_STEPS], loss = 0.0;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(progress.sums, shortest, progress.since, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&progress.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < progress.since; i++)
            progress.all_sums += shortest[i];
        printf("step %d of %d: loss %.6f, %.3f s, %.3f s in sums\n", progress.step, progress.steps,
               loss / progress.since, seconds, progress.all_sums);
        fflush(stdout);
    }
    progress.since = 0;
    progress.loss = 0.0;
}

void progress_step(double loss, double seconds)
{
    double sums_end = sums_cost().seconds;

    if (progress.every == 0)
        return;
    progress.sums[progress.since++] = sums_end - progress.sums_end;
    progress.sums_end = sums_end;
    progress.loss += loss;
    progress.step++;
    if (progress.since == progress.every || progress.step == progress.steps)
        print_line(seconds);
}
