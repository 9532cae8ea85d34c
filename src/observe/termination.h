/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* SIGTERM, which ends a job that has reached its limit of time. A handler must neither lock nor
 * allocate, so that it cannot write a file: it wakes a thread, which does. */
#ifndef CGX_OBSERVE_TERMINATION_H
#define CGX_OBSERVE_TERMINATION_H

#include <stdbool.h>

/* Counts once in a process. Where SIGTERM has its default action, it ends the process as before,
 * after WRITE has been called in a thread of its own: again for a second while it returns false,
 * which is to wait for nothing. A second SIGTERM ends the process at once, as the first does in
 * processes that are forked from this one. A handler that the program sets, now or later, is not
 * touched. */
void cgx_termination_begin(bool (*write)(void));

#endif
