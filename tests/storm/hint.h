/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a program says of a communicator's calls with MPI_Comm_set_info, drawn at random. */
#ifndef TESTS_STORM_HINT_H
#define TESTS_STORM_HINT_H

#include <mpi.h>

#include "draw.h"

/* What is said of a call, in hints or in a rule. */
struct said {
    bool exact;
    enum { SAID_NOTHING, SAID_ALWAYS, SAID_NEVER } recurs;
    unsigned bits, layer_bits; /* 0: not said */
    const char *codec;         /* NULL: not said */
    bool op;                   /* op=float16 */
};

/* As in CGX_CODEC. */
const char *said_draw_codec(struct draw *draw);

struct hint {
    bool none; /* the communicator may have none */
    bool off;  /* cgx_enable is 0 */
    struct said said;
    char text[256]; /* all that was said: " key=value" for each */
    char next[256]; /* what is to be said next, likewise */
};

/* For a step of N CALLS. */
void hint_begin(struct hint *hint, struct draw *draw, const struct storm_call *calls, unsigned n,
                const struct storm_limits *limits);

/* Something else about the width. */
void hint_change(struct hint *hint, struct draw *draw);

/* Says it. */
void hint_give(struct hint *hint, MPI_Comm comm);

#endif
