/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What happens once in a process: reading the settings, at the first call that some setting could
 * make compressed, and the last words in MPI_Finalize. */
#ifndef CGX_PMPI_START_H
#define CGX_PMPI_START_H

#include <stdbool.h>

#include "util/settings.h"

/* The settings of this process. The first call reads them; MPI must be initialised. */
const struct cgx_settings *cgx_start(void);

/* True once MPI_Finalize has begun: from then on only memory may be freed. Never true in a program
 * that uses MPI sessions alone. */
bool cgx_finalizing(void);

#endif
