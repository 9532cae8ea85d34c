/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What all-reduces of many ranks would take, in the library's own model (policy/cost.h). */
#ifndef CGX_TOOLS_INFO_SCALE_H
#define CGX_TOOLS_INFO_SCALE_H

#include <stdbool.h>

#include "util/settings.h"

/* Ranks, ranks of a node, and bytes per second of a node's link. */
struct info_job {
    unsigned ranks, members;
    double bytes_per_second;
    double latency_us; /* 0: as networks of that speed have */
};

/* False, with *WHY: WORDS, which are "P L LINK", say no job. */
bool info_scale_parse(char *const words[3], struct info_job *job, const char **why);

/* Prints the table. */
void info_scale(const struct cgx_settings *settings, const struct info_job *job);

#endif
