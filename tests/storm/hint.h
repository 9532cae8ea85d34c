/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a program says of a communicator's calls with MPI_Comm_set_info, drawn at random. */
#ifndef TESTS_STORM_HINT_H
#define TESTS_STORM_HINT_H

#include "draw.h"
#include "oracle.h"

struct hint {
    bool none; /* the communicator may have none */
    bool exact;
    unsigned bits, layer_bits; /* 0: not said */
    const char *codec;         /* NULL: not said */
    char text[256];            /* all that was said: " key=value" for each */
    char said[256];            /* what is to be said next, likewise */
};

/* For a step of N CALLS. */
void hint_begin(struct hint *hint, struct draw *draw, const struct storm_call *calls, unsigned n,
                const struct storm_limits *limits);

/* Something else about the width. */
void hint_change(struct hint *hint, struct draw *draw);

/* Says it. */
void hint_give(struct hint *hint, MPI_Comm comm);

/* ORACLE, that of the environment, becomes what the hints leave of it. */
void hint_apply(const struct hint *hint, struct oracle *oracle);

#endif
