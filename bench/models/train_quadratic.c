/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A convex problem whose ranks disagree, in plain MPI: each has a quadratic function of its own,
 * with a minimum of its own, and all go down the gradient of the mean.
 *
 * At the minimum of the mean the ranks' gradients are as large as ever and only their sum is zero.
 * So the error of a compressed sum, which is relative to what is summed, does not vanish: it says
 * how far from the minimum the steps end. A step has one sum. */
#include "matrix.h"
#include <getopt.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Neighbours in a run have minima of one scale; between runs scales differ, as those of layers and
 * channels do. */
enum { ELEMENTS = 4096, RUN = 32, STEPS = 3000 };

static const double RATE = 0.02, LEAST_CURVATURE = 0.02;
static const double DISAGREEMENT = 3.0; /* of the ranks' own part in their minima */

static struct {
    float curvature[ELEMENTS]; /* of all ranks' functions */
    float own[ELEMENTS];       /* where the minimum of this rank's function is */
    double centre[ELEMENTS];   /* where that of the mean is */
    float position[ELEMENTS], gradient[ELEMENTS];
} problem;

static int rank, ranks;

/* All ranks draw the same numbers. */
static void create(uint64_t random)
{
    double scale = 1.0;

    for (int i = 0; i < ELEMENTS; i++) {
        double common;

        if (i % RUN == 0)
            scale = exp(random_gaussian(&random));
        common = scale * random_gaussian(&random);
        problem.curvature[i] =
            (float)(LEAST_CURVATURE + (1.0 - LEAST_CURVATURE) * random_uniform(&random));
        for (int p = 0; p < ranks; p++) {
            float minimum = (float)(common + DISAGREEMENT * scale * random_gaussian(&random));

            problem.centre[i] += (double)minimum / ranks;
            if (p == rank)
                problem.own[i] = minimum;
        }
    }
}

/* How far the mean of the functions is above its minimum. */
static double excess(void)
{
    double sum = 0.0;

    for (int i = 0; i < ELEMENTS; i++) {
        double distance = (double)problem.position[i] - problem.centre[i];

        sum += 0.5 * (double)problem.curvature[i] * distance * distance;
    }
    return sum;
}

static void descend(void)
{
    float rate = (float)RATE / (float)ranks;

    for (int i = 0; i < ELEMENTS; i++)
        problem.gradient[i] = problem.curvature[i] * (problem.position[i] - problem.own[i]);
    MPI_Allreduce(MPI_IN_PLACE, problem.gradient, ELEMENTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < ELEMENTS; i++)
        problem.position[i] -= rate * problem.gradient[i];
}

static bool is_equal_on_all_ranks(uint64_t hash)
{
    uint64_t least, most;

    MPI_Allreduce(&hash, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&hash, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

static bool run(int seed, int steps)
{
    double first, start = MPI_Wtime();
    uint64_t hash;
    bool equal;

    create((uint64_t)seed);
    first = excess();
    for (int i = 0; i < steps; i++)
        descend();
    hash = hash_values(problem.position, ELEMENTS);
    equal = is_equal_on_all_ranks(hash);
    if (rank == 0)
        printf("quadratic functions of %d elements on %d ranks, %d steps\n"
               "sums of a step: %d\n"
               "parameters equal on all ranks: %s\n"
               "result loss=%.4e seconds=%.3f allreduce_elements=%lld hash=%016" PRIx64 "\n",
               ELEMENTS, ranks, steps, ELEMENTS, equal ? "yes" : "no", excess() / first,
               MPI_Wtime() - start, (long long)steps * ELEMENTS, hash);
    return equal;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"seed", required_argument, NULL, 's'},
                                          {"steps", required_argument, NULL, 'n'},
                                          {NULL, 0, NULL, 0}};
    int seed = 1, steps = STEPS, option;
    bool good = true;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    opterr = rank == 0;
    while ((option = getopt_long_only(argc, argv, "", known, NULL)) != -1) {
        if (option == 's')
            seed = atoi(optarg);
        else if (option == 'n')
            steps = atoi(optarg);
        else
            good = false;
    }
    good = good && optind == argc;
    if (!good && rank == 0)
        fprintf(stderr, "usage: %s [--seed N] [--steps N]\n", argv[0]);
    good = good && run(seed, steps);
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
