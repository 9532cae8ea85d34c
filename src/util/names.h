/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ variables that are no settings: mistyped, or torch_cgx's and retired; and retired values. */
#ifndef CGX_UTIL_NAMES_H
#define CGX_UTIL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/setting.h"

/* As cgx_settings_row. */
typedef const struct cgx_setting *cgx_names_known(size_t index);

/* Another name of the variable NAME, or NULL. */
const char *cgx_names_alias(const char *name);

/* ENTRY is "NAME=value". If its name begins with CGX_ and is not KNOWN, returns true with a MESSAGE
 * (at most SIZE bytes) that says why it is retired or which known name is the nearest. */
bool cgx_names_explain(const char *entry, cgx_names_known *known, char *message, size_t size);

/* Returns what to set in place of TEXT, a retired value of the variable NAME; NULL if it is not
 * retired. */
const char *cgx_names_instead(const char *name, const char *text);

#endif
