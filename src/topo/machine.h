/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What this machine is made of, as hwloc sees it. hwloc.c opens libhwloc.so.15 when it is asked
 * and closes it again; none.c is for builds without hwloc. */
#ifndef CGX_TOPO_MACHINE_H
#define CGX_TOPO_MACHINE_H

#include "util/status.h"

/* A kind that hwloc does not see (packages within some virtual machines) counts 0. */
struct cgx_topo_machine {
    unsigned packages;
    unsigned numa_nodes;
    unsigned cores;
    unsigned processing_units; /* hardware threads that this process may see */
};

/* CGX_ERR_INVALID: built without hwloc, or a usable libhwloc is not installed. CGX_ERR_NOMEM: hwloc
 * could not find out. Takes milliseconds; keeps nothing. */
enum cgx_status cgx_topo_machine(struct cgx_topo_machine *machine);

/* The version of hwloc's interface that this was built for, or "none". */
const char *cgx_topo_build(void);

#endif
