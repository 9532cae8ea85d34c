/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Files that users name for the library to write. Others may have put something of that name there,
 * as anyone can in /tmp: nothing is written into, or through, what belongs to another user than
 * this one or root. */
#ifndef CGX_UTIL_OUTPUT_H
#define CGX_UTIL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Opens the file at PATH for writing, and makes it where there is none: a descriptor that programs
 * which this process starts do not have, or -1 with errno, EACCES for what is another user's. What
 * is in the file stays. A link is followed, and a device or FIFO is opened as it is. */
int cgx_output_open(const char *path);

/* The same as a stream, and what was in the file is gone; NULL with errno. */
FILE *cgx_output_stream(const char *path);

/* Has WRITE, given STATE, write a file that takes the place of that at PATH once it is whole.
 * Devices, FIFOs and links stay what they are, and are written to, as is a file in a folder that
 * takes no new one. False with errno. */
typedef void cgx_output_writer(FILE *file, const void *state);
bool cgx_output_replace(const char *path, cgx_output_writer *write, const void *state);

#endif
