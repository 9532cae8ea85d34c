/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "options.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char *const optimisers[OPTIMISERS] = {"sgd", "adam", "adamw"};

static bool parse_number(const char *text, long least, long most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > most)
        return false;
    *number = (int)value;
    return true;
}

static bool parse_rate(const char *text, double *rate)
{
    char *end;

    *rate = strtod(text, &end);
    return end != text && *end == '\0' && *rate > 0.0 && *rate < 1000.0;
}

static bool parse_optimiser(const char *text, enum optimiser *optimiser)
{
    for (int i = 0; i < OPTIMISERS; i++)
        if (strcmp(text, optimisers[i]) == 0) {
            *optimiser = (enum optimiser)i;
            return true;
        }
    return false;
}

/* Of an option with its argument in optarg. */
static bool set_option(int option, struct options *options)
{
    switch (option) {
    case 'd':
        options->data = optarg;
        return true;
    case 'o':
        return parse_optimiser(optarg, &options->optimiser);
    case 'r':
        return parse_rate(optarg, &options->rate);
    case 'a':
        return parse_number(optarg, 1, 1000000, &options->average_every);
    case 'n':
        return options->shards = true;
    case 'm':
        return options->ema = true;
    case 'q':
        return options->size.quick = true;
    case 'g':
        return options->device = true;
    case 'l':
        return options->leave = true;
    case 'h':
        return options->help = true;
    case 's':
        return parse_number(optarg, 0, 1000000, &options->seed);
    case 'e':
        return parse_number(optarg, 1, 1000000, &options->epochs);
    case 'b':
        return parse_number(optarg, 1, 1000000, &options->batch);
    case 'u':
        return parse_number(optarg, 64, 4096, &options->size.units) &&
               options->size.units % 64 == 0;
    case 'p':
        return parse_number(optarg, 1, 1000000, &options->report_every);
    case 'f':
        return parse_number(optarg, 0, 1 << 30, &options->fuse);
    default:
        return false;
    }
}

void options_print_usage(FILE *file, const struct example *example)
{
    fprintf(file,
            "usage: %s [--data FILE] [--seed N] [--epochs N] [--batch N] [--quick%s] [--device]\n"
            "       [--optimiser sgd|adam|adamw] [--rate R] [--shards] [--fuse BYTES]\n"
            "       [--average-every N | --ema] [--report-every N] [--leave] [--help]\n"
            "--quick: a smaller network; --device: sums in GPU memory; --shards: each rank has\n"
            "samples of its own, sorted by label; --fuse: sums neighbouring gradients together up\n"
            "to so many bytes; --average-every: each rank descends by itself, and every N steps\n"
            "the ranks average their weights; --ema: an average of the weights over the steps is\n"
            "kept too, averaged over the ranks every %d steps, and tested; --report-every: a\n"
            "line every N steps; --leave: ends without MPI_Finalize, in which MPICH may hang over "
            "TCP.\n",
            example->name, example->sized ? " | --units N" : "", EMA_EVERY);
    if (example->sized)
        fprintf(file, "--units: of the widest layers, a multiple of 64.\n");
}

bool options_read(int argc, char **argv, const struct example *example, bool loud,
                  struct options *options)
{
    static const struct option known[] = {
        {"data", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 's'},
        {"epochs", required_argument, NULL, 'e'},
        {"batch", required_argument, NULL, 'b'},
        {"optimiser", required_argument, NULL, 'o'},
        {"rate", required_argument, NULL, 'r'},
        {"shards", no_argument, NULL, 'n'},
        {"fuse", required_argument, NULL, 'f'},
        {"average-every", required_argument, NULL, 'a'},
        {"ema", no_argument, NULL, 'm'},
        {"quick", no_argument, NULL, 'q'},
        {"units", required_argument, NULL, 'u'},
        {"report-every", required_argument, NULL, 'p'},
        {"device", no_argument, NULL, 'g'},
        {"leave", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool good = true;
    int option;

    *options = (struct options){.data = example->data, .seed = 1, .batch = example->batch};
    opterr = 0;
    while (good && (option = getopt_long_only(argc, argv, "", known, NULL)) != -1)
        good = set_option(option, options);
    if ((!good || optind < argc) && loud) {
        fprintf(stderr, "%s: not understood: %s\n", argv[0], argv[good ? optind : optind - 1]);
        options_print_usage(stderr, example);
    }
    if (good && options->average_every && options->ema) {
        good = false;
        if (loud)
            fprintf(stderr, "%s: --average-every and --ema do not go together\n", argv[0]);
    }
    if (good && options->size.units && !example->sized) {
        good = false;
        if (loud)
            fprintf(stderr, "%s: there is no --units\n", argv[0]);
    }
    if (options->epochs == 0)
        options->epochs = options->size.quick ? example->quick_epochs : example->epochs;
    if (options->rate == 0.0)
        options->rate = (double)example->rate[options->optimiser];
    return good && optind == argc;
}
