/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <stddef.h>
#include <stdio.h>

/* The table of cgx-tuning(7), which a test compares with this one. */
static const struct row {
    const char *data, *seen, *cure;
} rows[] = {
    {"Data", "The library sees it", "You say"},
    {"activations (tensor, sequence parallelism)", "no", "hint"},
    {"forces (N-body, molecular dynamics)", "if they hardly change", "hint"},
    {"solver vectors (CG, PageRank)", "if their size runs away", "hint"},
    {"solver vectors (Lanczos, Chebyshev, CGLS)", "no", "hint"},
    {"densities, fields (SCF loops)", "once settled", "hint"},
    {"particles in cells", "if their size hardly changes", "hint"},
    {"wave functions (propagators)", "if they move slowly", "hint"},
    {"structure factors (Ewald sums)", "no", "hint"},
    {"ensembles (filters), fresh random numbers", "no", "hint"},
    {"arrays of one count in turn", "up to ten that hardly change", "hint"},
    {"averaged weights (federated, local SGD)", "if signs of all ranks agree", "hint"},
    {"moving averages", "if they hardly change", "hint"},
    {"gathers done as sums, zeros elsewhere", "on up to 8 ranks", "hint"},
    {"second-order factors (K-FAC, Shampoo)", "if square and symmetric", "rule"},
    {"counts, histograms", "if they are whole numbers", "rule"},
    {"variances", "if all have one sign", "rule"},
    {"moments equal on all ranks", "yes", "rule"},
    {"batch statistics (BatchNorm)", "if their size hardly changes", "rule"},
    {"metrics in a gradient's place", "if their size is 64 times off", "rule"},
    {"a small part of a gradient's buffer", "no", "layers="},
    {"gradients (full batch, constant part)", "taken for state", "consensus=off"},
};

void info_print_data(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("%-44s%-31s%s\n", rows[i].data, rows[i].seen, rows[i].cure);
    printf("\nhint: cgx_enable=0 on the communicator of such data\n"
           "rule: count=N -> exact in a file that cgxrun --rules or CGX_RULES names; so are\n"
           "      count=N -> consensus=off, and count=N -> layers=SIZE:exact,SIZE\n"
           "See cgx-tuning(7), WHAT MUST BE EXACT, and cgx-rules(5).\n");
}
