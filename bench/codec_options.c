/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

bool codec_options_list(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return list == NULL;
}

int codec_options_parse(int argc, char *argv[], struct codec_options *options)
{
    static const struct option table[] = {
        {"bits", required_argument, NULL, 'b'},    {"dtype", required_argument, NULL, 'd'},
        {"kernels", required_argument, NULL, 'k'}, {"size", required_argument, NULL, 's'},
        {"history", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    int c;

    *options = (struct codec_options){.mib = 64};
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'b':
            options->bits = optarg;
            break;
        case 'd':
            options->dtypes = optarg;
            break;
        case 'k':
            options->kernels = optarg;
            break;
        case 'h':
            options->history = true;
            break;
        case 's':
            options->mib = strtoul(optarg, NULL, 10);
            break;
        default:
            return 2;
        }
    options->csv = argv[optind];
    return options->mib == 0 ? 2 : 0;
}
