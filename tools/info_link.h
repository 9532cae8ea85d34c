/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The network link that cgx-info --measure reckons with. */
#ifndef CGX_TOOLS_INFO_LINK_H
#define CGX_TOOLS_INFO_LINK_H

#include <stdbool.h>

#define INFO_LINK_NAME_BYTES 256

/* A number and a unit, as "10gbit", "100 Gbit/s" without the blank, or "1.25GB": bits are mbit and
 * gbit in letters of either case, bytes are MB and GB; "/s" may follow. False: it is none. */
bool info_link_parse(const char *text, double *bytes_per_second);

/* The fastest interface of FOLDER, which is like /sys/class/net, that is up, belongs to a device or
 * is a bond of some, and tells its speed. False: there is none. */
bool info_link_find(const char *folder, char name[INFO_LINK_NAME_BYTES], double *bytes_per_second);

#endif
