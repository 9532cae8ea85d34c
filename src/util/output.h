/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Files that users name for the library to write. Others may have put something of that name there,
 * as anyone can in /tmp: nothing is written into, or through, what belongs to another user than
 * this one or root. */
#ifndef CGX_UTIL_OUTPUT_H
#define CGX_UTIL_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* Opens the file at PATH for writing, and makes it where there is none: a descriptor that programs
 * which this process starts do not have, or -1 with errno, EACCES for what is another user's. What
 * is in the file stays. A link is followed, and a device or FIFO is opened as it is. */
int cgx_output_open(const char *path);

/* A file that is written from its beginning by one thread. At the user's limit on the size of files
 * it ends with an error, EFBIG, and without the signal that would end the program. */
struct cgx_output {
    FILE *stream;
    sigset_t mask; /* the thread's, but for that signal */
    bool was_pending;
};

/* Opens the file like cgx_output_open; what was in it is gone. False with errno. */
bool cgx_output_begin(struct cgx_output *output, const char *path);

/* Closes it. Whether all was written; false with errno. */
bool cgx_output_end(struct cgx_output *output);

/* Has WRITE, given STATE, write a file that takes the place of that at PATH once it is whole.
 * Devices, FIFOs and links stay what they are, and are written to, as is a file in a folder that
 * takes no new one. False with errno. */
typedef void cgx_output_writer(FILE *file, const void *state);
bool cgx_output_replace(const char *path, cgx_output_writer *write, const void *state);

#endif
