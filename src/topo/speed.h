/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The speed of a machine's network, as the kernel reports it for interfaces that are devices, or
 * bonds of devices. */
#ifndef CGX_TOPO_SPEED_H
#define CGX_TOPO_SPEED_H

struct cgx_topo_speed {
    unsigned mbits; /* Mbit/s; 0: unknown */
    char name[256];
};

/* The fastest OpenFabrics device with an active port or, without one, the fastest network interface
 * that is up. Interfaces without a speed, such as those of virtual machines, are ignored. Which
 * interface MPI uses is unknown here. FOLDER is like /sys/class. */
struct cgx_topo_speed cgx_topo_speed(const char *folder);

/* The same for the machine that this process runs on, examined once per process. Thread-safe. */
struct cgx_topo_speed cgx_topo_speed_here(void);

#endif
