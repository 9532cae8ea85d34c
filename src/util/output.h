/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Files that users name for the library to read and write. Another user may have put something
 * there, as in /tmp: nothing is written into or through what belongs to any user but this one or
 * root. */
#ifndef CGX_UTIL_OUTPUT_H
#define CGX_UTIL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Returns the content of the regular file at PATH, for the caller to free; NULL if it cannot be
 * read whole. Devices are not read, since they may never end. */
char *cgx_file_read(const char *path, size_t *length);

/* Opens the file at PATH for writing, with its content unchanged, or creates it. Returns a
 * descriptor that child programs do not inherit, or -1 with errno (EACCES: another user's). Links
 * are followed; devices and FIFOs are opened as they are. */
int cgx_output_open(const char *path);

/* Lets WRITE, given STATE, write a new file, which replaces that at PATH when complete. Devices,
 * FIFOs and links are written to directly, as are files in folders that take no new ones. At the
 * user's file size limit writing fails with EFBIG, and the signal that would end the program is
 * suppressed. False with errno. */
typedef void cgx_output_writer(FILE *file, const void *state);
bool cgx_output_replace(const char *path, cgx_output_writer *write, const void *state);

#endif
