/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The command line of the models' programs. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "training.h"
#include <stdio.h>

struct options {
    const char *data;
    enum optimiser optimiser;
    double rate;
    struct size size;
    int seed, epochs, batch, fuse, average_every, report_every;
    bool shards, ema, device, leave, help;
};

/* Averages of the weights over the steps are averaged over the ranks every so many steps. */
enum { EMA_EVERY = 10 };

/* Prints what is not understood if LOUD; false then. */
bool options_read(int argc, char **argv, const struct example *example, bool loud,
                  struct options *options);

void options_print_usage(FILE *file, const struct example *example);

#endif
