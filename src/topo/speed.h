/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The speed of a machine's network, as the system reports it for the interfaces that hwloc
 * names. */
#ifndef CGX_TOPO_SPEED_H
#define CGX_TOPO_SPEED_H

#include "topo/machine.h"

struct cgx_topo_speed {
    unsigned mbits; /* Mbit/s; 0: unknown */
    char name[CGX_TOPO_NAME_BYTES];
};

/* The fastest OpenFabrics device with an active port or, without one, the fastest network interface
 * that is up. Interfaces without a speed, such as those of virtual machines, are ignored. Which
 * interface MPI uses is unknown here. FOLDER is like /sys/class; TOPO must have
 * CGX_TOPO_DEVICES. */
struct cgx_topo_speed cgx_topo_speed(const struct cgx_topo *topo, const char *folder);

/* The same for the machine that this process runs on, examined once per process; unknown without
 * hwloc. Thread-safe. */
struct cgx_topo_speed cgx_topo_speed_here(void);

#endif
