/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What cgx-info --topology prints on stdout. */
#ifndef CGX_TOOLS_INFO_TOPOLOGY_H
#define CGX_TOOLS_INFO_TOPOLOGY_H

#include "util/settings.h"

/* A tree of packages, NUMA nodes and GPUs, and where this process may run; or that it is unknown.
 */
void info_draw_machine(void);

/* A line that says in which stages a call would be summed. Nodes are known to a job alone. */
void info_print_stages(const struct cgx_settings *settings);

#endif
