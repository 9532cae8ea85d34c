/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the programs of all models share: data-parallel training in plain MPI, which knows nothing
 * of libcgxpmpi, and the report:
 *
 *     mpiexec -n 4 cgxrun --buffers host bench/models/train_digits --data examples/data/digits.csv
 *
 * Every rank holds all parameters and takes its share of each batch; the gradients are summed with
 * MPI_Allreduce as the backward pass finishes them; then every rank makes the same step. Or, if
 * asked to, ranks step by themselves and now and then average their weights. */
#ifndef TRAINING_H
#define TRAINING_H

#include "optimiser.h"
#include "samples.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A network on one rank; it knows no MPI. It works on several samples at once: matrices have a
 * column for each place of each sample at which it tells a class, and columns of no sample add
 * nothing to loss and gradients. Parameters lie in memory in the order in which backward finishes
 * their gradients. */
struct model {
    char description[64];
    int samples, places; /* at once, at most; columns of a sample */
    int columns;         /* samples x places; a multiple of TILE_COLUMNS */
    int classes;
    int *labels;                   /* of the columns; -1: there is no sample */
    float *input;                  /* what fill writes */
    float *output, *output_errors; /* classes x columns: what enters the softmax; derivatives */
    size_t parameters;             /* elements of each of the next two */
    float *parameter, *gradient;

    /* COUNT samples, by number, become the input and the labels. */
    void (*fill)(struct model *model, const int *samples, int count);
    /* From input to output. */
    void (*forward)(struct model *model);
    /* From output_errors to the gradients, summed over the samples. Each tensor is told to READY
     * as soon as it is final, and not touched afterwards. */
    void (*backward)(struct model *model, void (*ready)(float *gradient, int count));
    /* Prints what else is worth telling in the end; NULL: nothing is. */
    void (*report)(const struct model *model);
};

/* How large a network is to be. */
struct size {
    bool quick; /* smaller than usual */
    int units;  /* of its widest layers; 0: as usual */
};

struct example {
    const char *name, *data;         /* data: a file, by default */
    int batch, epochs, quick_epochs; /* by default */
    float rate[OPTIMISERS];          /* it falls to zero along a cosine */
    float momentum, decay;           /* of SGD */
    bool sized;                      /* units can be chosen */
    /* Collective, and as digits_load. */
    bool (*load)(const char *file, int batch, struct samples *samples);
    /* A model for at least SAMPLES at once; NULL: no memory. free() frees it. */
    struct model *(*create)(struct size size, int samples, uint64_t *random);
};

/* All of main. Returns the exit status. */
int training_main(int argc, char **argv, const struct example *example);

#endif
