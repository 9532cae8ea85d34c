/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What cgx-info prints for its options. */
#ifndef CGX_TOOLS_INFO_H
#define CGX_TOOLS_INFO_H

#include <stdio.h>

#include "coll/program.h"
#include "util/settings.h"

/* --data: which data the library sees is no gradient, and how a user says so. */
void info_print_data(void);

/* --topology: a tree of packages, NUMA nodes and GPUs, and where this process may run; or that it
 * is unknown. */
void info_draw_machine(void);

/* A line that says in which stages a call would be summed. Nodes are known to a job alone. */
void info_print_stages(const struct cgx_settings *settings);

/* The program of a rank: a line for each sum and message of each round. */
void info_print_program(FILE *out, const struct cgx_program *program);

#endif
