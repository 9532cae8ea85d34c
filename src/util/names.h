/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ variables that no row of the settings' table has: mistyped, or torch_cgx's and retired. */
#ifndef CGX_UTIL_NAMES_H
#define CGX_UTIL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* ENTRY is "NAME=value". If its name begins with CGX_ and is none of the table's, returns true with
 * a MESSAGE (at most SIZE bytes) that says why it is retired or which known name is the nearest. */
bool cgx_names_explain(const char *entry, char *message, size_t size);

#endif
