/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How fast the network of a machine is, as the system says of the interfaces that hwloc names. */
#ifndef CGX_TOPO_SPEED_H
#define CGX_TOPO_SPEED_H

#include "topo/machine.h"

struct cgx_topo_speed {
    unsigned mbits; /* a second; 0: unknown */
    char name[CGX_TOPO_NAME_BYTES];
};

/* The fastest OpenFabrics device with a port that is active or, where there is none, the fastest
 * network interface that is up; interfaces that tell no speed, as those of virtual machines, count
 * for nothing. Which of them MPI uses is not known here. FOLDER is like /sys/class; TOPO was looked
 * at with CGX_TOPO_DEVICES. */
struct cgx_topo_speed cgx_topo_speed(const struct cgx_topo *topo, const char *folder);

/* Of the machine that this process runs on. Found out once per process; unknown without hwloc, too.
 * Thread-safe. */
struct cgx_topo_speed cgx_topo_speed_here(void);

#endif
