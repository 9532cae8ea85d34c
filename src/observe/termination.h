/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* SIGTERM, which ends a job that has reached its time limit. A handler must not lock or allocate,
 * so it cannot write a file: it wakes a thread that does. */
#ifndef CGX_OBSERVE_TERMINATION_H
#define CGX_OBSERVE_TERMINATION_H

#include <stdbool.h>

/* Takes effect once in a process. If SIGTERM has its default action, it ends the process as before,
 * but WRITE is first called in a separate thread, again for a second while it returns false. WRITE
 * must not wait for anything. A second SIGTERM ends the process at once, as the first does in
 * forked processes. A handler that the program sets, before or later, is not changed. */
void cgx_termination_begin(bool (*write)(void));

#endif
