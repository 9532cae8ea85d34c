/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What train_digits and train_conv share: the command line, data-parallel gradient descent with
 * momentum in plain MPI, and the report. Every rank holds all parameters and takes its share of
 * each batch; the gradients are summed with MPI_Allreduce as the backward pass finishes them; then
 * every rank makes the same step. Or, if asked to, ranks step by themselves and now and then
 * average their weights. */
#ifndef TRAINING_H
#define TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A network on one rank; it knows no MPI. It works on several samples at once: matrices have a
 * column for each sample, and columns without one add nothing to loss and gradients. Parameters
 * lie in memory in the order in which backward finishes their gradients. */
struct model {
    char description[64];
    int columns; /* a multiple of TILE_COLUMNS */
    int *labels; /* of the columns; -1: there is no sample */
    float *input;
    float *output, *output_errors; /* CLASSES x columns: what enters the softmax; derivatives */
    size_t parameters;             /* elements of each of the next three */
    float *parameter, *gradient, *velocity;

    /* From input to output. */
    void (*forward)(struct model *model);
    /* From output_errors to the gradients, summed over the samples. Each tensor is told to READY
     * as soon as it is final, and not touched afterwards. */
    void (*backward)(struct model *model, void (*ready)(float *gradient, int count));
};

struct example {
    const char *name;
    int batch, epochs, quick_epochs; /* by default */
    float rate, momentum, decay;     /* the rate falls to zero along a cosine */
    /* A model for at least SAMPLES at once, a smaller one if QUICK; NULL: no memory. free()
     * frees it. */
    struct model *(*create)(bool quick, int samples, uint64_t *random);
};

/* All of main. Returns the exit status. */
int training_main(int argc, char **argv, const struct example *example);

#endif
