/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ variables that are no settings (mistyped, or retired ones of torch_cgx), and retired
 * values. */
#ifndef CGX_UTIL_NAMES_H
#define CGX_UTIL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/settings_values.h"

/* Like cgx_settings_row. */
typedef const struct cgx_setting *cgx_names_known(size_t index);

/* A variable with the same meaning as NAME, or NULL. */
const char *cgx_names_alias(const char *name);

/* ENTRY is "NAME=value". If NAME begins with CGX_ and is not KNOWN, returns true with a MESSAGE of
 * at most SIZE bytes: why it is retired, or the nearest known name. */
bool cgx_names_explain(const char *entry, cgx_names_known *known, char *message, size_t size);

/* Returns what to set instead if TEXT is a retired value of the variable NAME that is refused,
 * otherwise NULL. */
const char *cgx_names_instead(const char *name, const char *text);

/* Returns the value that replaces TEXT if TEXT is a retired one that is accepted, otherwise NULL.
 */
const char *cgx_names_successor(const char *name, const char *text);

#endif
