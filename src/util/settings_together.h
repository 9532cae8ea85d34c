/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Values that are allowed each for itself, but not together. */
#ifndef CGX_UTIL_SETTINGS_TOGETHER_H
#define CGX_UTIL_SETTINGS_TOGETHER_H

#include "util/settings.h"

/* Gives what is refused of SETTINGS its usual default, and what is to be said about it: static,
 * NULL where nothing is. True if nothing is refused. */
#define CGX_SETTINGS_TOGETHER 2
bool cgx_settings_together(struct cgx_settings *settings,
                           const char *messages[CGX_SETTINGS_TOGETHER]);

/* True if the widths to choose from do not have the base width, with a MESSAGE that says so. */
bool cgx_settings_override(const struct cgx_settings *settings, char *message, size_t size);

#endif
