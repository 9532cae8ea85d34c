/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The program of a rank (coll/program.h) for people. */
#ifndef CGX_TOOLS_INFO_PROGRAM_H
#define CGX_TOOLS_INFO_PROGRAM_H

#include <stdio.h>

#include "coll/program.h"

/* Prints a line for each sum and message of each round. */
void info_print_program(FILE *out, const struct cgx_program *program);

#endif
