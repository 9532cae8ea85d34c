/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What happens once in a process: reading the settings, meeting MPI_COMM_WORLD, and the last words
 * in MPI_Finalize. */
#ifndef CGX_PMPI_START_H
#define CGX_PMPI_START_H

#include <stdbool.h>

#include "policy/rules.h"
#include "util/settings.h"

/* In every intercepted call: the first one after MPI_Init reads the settings, whose mistakes are
 * logged, and has MPI_Finalize report what was done. */
void cgx_start_meet(void);

/* The settings of this process. The first call reads them; MPI must be initialised. */
const struct cgx_settings *cgx_start(void);

/* The rules of CGX_RULES, once settings have been read; NULL: there are none. */
const struct cgx_rules *cgx_rules(void);

/* False in a program that so far uses MPI sessions alone: there even touching MPI_COMM_WORLD or
 * MPI_COMM_SELF aborts. The first true answer sets the rank in log lines and has MPI_Finalize
 * report what was done. */
bool cgx_world_exists(void);

/* True if MPI_Finalize will write what there is to write at the end. */
bool cgx_world_ends(void);

/* The name of a file that is written at the end by RANK of MPI_COMM_WORLD: FROM, cut where it is
 * too long, with the rank for "%r". False: it is written by another rank. */
#define CGX_START_PATH_BYTES (CGX_SETTINGS_PATH_BYTES + 16)
bool cgx_start_name_file(const char *from, int rank, char path[CGX_START_PATH_BYTES]);

/* True once MPI_Finalize has begun: from then on only memory may be freed. Never true in a program
 * that uses MPI sessions alone. */
bool cgx_finalizing(void);

#endif
