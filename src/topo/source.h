/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Machines other than this one, for tests. */
#ifndef CGX_TOPO_SOURCE_H
#define CGX_TOPO_SOURCE_H

#include "topo/machine.h"

enum cgx_topo_source {
    CGX_TOPO_LIVE,      /* this machine, or what hwloc's variables say; no text */
    CGX_TOPO_SYNTHETIC, /* a description, as "pack:2 numa:1 core:4 pu:2"; never has devices */
    CGX_TOPO_XML        /* a file that hwloc's tools wrote */
};

/* Looks at a machine anew, each time. Status and cost are those of cgx_topo_here; CGX_ERR_INVALID
 * also for a text that hwloc does not understand. To be freed. */
enum cgx_status cgx_topo_load(enum cgx_topo_source source, const char *text,
                              enum cgx_topo_detail detail, struct cgx_topo **topo);
void cgx_topo_free(struct cgx_topo *topo);

#endif
