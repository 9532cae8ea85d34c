/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#ifndef CGX_UTIL_THREAD_H
#define CGX_UTIL_THREAD_H

#include <stdbool.h>

/* Starts a thread of the library, which takes none of the program's signals and which nobody joins.
 * False if there can be none. */
bool cgx_thread_start(void *(*run)(void *), void *argument);

#endif
