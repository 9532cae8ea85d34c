/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the user has set: the settings and rules of this process, read once. */
#ifndef CGX_MPI_CONFIG_H
#define CGX_MPI_CONFIG_H

#include <stdbool.h>

#include "policy/rules/rules.h"
#include "util/settings.h"

/* The settings. The first call reads them, and logs their mistakes; MPI must be initialised. */
const struct cgx_settings *cgx_config(void);

/* A mistake of the user's has been said, at the level error: with CGX_ENABLE=strict this ends the
 * job, and does not return. */
void cgx_config_end_strict(void);

/* The rules of CGX_RULES, once settings have been read; NULL: there are none. */
const struct cgx_rules *cgx_config_rules(void);

/* At the end: rank 0 warns of rules that have said nothing of any sum. */
void cgx_config_log_unused_rules(void);

/* The name of a file that is written at the end by RANK of MPI_COMM_WORLD: FROM, cut where it is
 * too long, with the rank for "%r". False: it is written by another rank. */
#define CGX_CONFIG_PATH_BYTES (CGX_SETTINGS_PATH_BYTES + 16)
bool cgx_config_name_file(const char *from, int rank, char path[CGX_CONFIG_PATH_BYTES]);

#endif
