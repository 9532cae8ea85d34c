/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The settings and rules of this process, read once. */
#ifndef CGX_MPI_CONFIG_H
#define CGX_MPI_CONFIG_H

#include <stdbool.h>

#include "policy/rules/rules.h"
#include "util/settings.h"

/* The settings. The first call reads them and logs mistakes; MPI must be initialised. */
const struct cgx_settings *cgx_config(void);

/* CGX_ENABLE=observe: no sum is compressed, but sums that would be are formed twice. */
static inline bool cgx_config_observes(void)
{
    return cgx_config()->enable == CGX_ENABLE_OBSERVE;
}

/* Call after logging a user's mistake at level error: with CGX_ENABLE=strict this ends the job and
 * does not return. */
void cgx_config_end_strict(void);

/* The rules of CGX_RULES, after the settings were read; NULL: none. */
const struct cgx_rules *cgx_config_rules(void);

/* At the end: rank 0 warns about rules that have matched no sum. */
void cgx_config_log_unused_rules(void);

/* The file that RANK of MPI_COMM_WORLD writes at the end: FROM with the rank in the place of "%r",
 * cut if too long. False: another rank writes the file. */
#define CGX_CONFIG_PATH_BYTES (CGX_SETTINGS_PATH_BYTES + 16)
bool cgx_config_name_file(const char *from, int rank, char path[CGX_CONFIG_PATH_BYTES]);

#endif
