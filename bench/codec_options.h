/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arguments of bench/codec. */
#ifndef BENCH_CODEC_OPTIONS_H
#define BENCH_CODEC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/format.h"

struct codec_options {
    const char *bits, *dtypes, *kernels;
    size_t mib;
    bool history; /* of max-min quantisation, beside what is without */
    const char *csv;
};

/* 0, or 2: they are not as they should be. */
int codec_options_parse(int argc, char *argv[], struct codec_options *options);

/* Whether NAME is in the comma-separated LIST; NULL is the list of all. */
bool codec_options_list(const char *list, const char *name);

#endif
