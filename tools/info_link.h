/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The network link that cgx-info --measure and --model reckon with. */
#ifndef CGX_TOOLS_INFO_LINK_H
#define CGX_TOOLS_INFO_LINK_H

#include <stdbool.h>

#define INFO_LINK_NAME_BYTES 256

/* Reads a number and a unit: mbit or gbit in letters of either case, MB or GB; "/s" may follow. A
 * number alone is in Gbit/s. Returns false if TEXT is malformed, or faster than 100 TB/s. */
#define INFO_LINK_ALLOWED "LINK is a number of Gbit/s, as 100, or a speed, as 25gbit or 1.25GB"
bool info_link_parse(const char *text, double *bytes_per_second);

/* The fastest interface of FOLDER, which is like /sys/class/net, that is up, belongs to a device or
 * is a bond of some, and tells its speed. False: there is none. */
bool info_link_find(const char *folder, char name[INFO_LINK_NAME_BYTES], double *bytes_per_second);

#endif
