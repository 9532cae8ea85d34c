/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One CGX_ variable, and its defaults. */
#ifndef CGX_UTIL_SETTING_H
#define CGX_UTIL_SETTING_H

/* Width of a call or segment that is sent as it is. */
#define CGX_BITS_EXACT 32

/* Of CGX_RULES, CGX_STATS and CGX_TRACE, with the end of the string; a longer one is refused. */
#define CGX_SETTINGS_PATH_BYTES 4096

/* What the table says about a variable. */
struct cgx_setting {
    const char *name;
    const char *values;  /* what is allowed, for people */
    const char *initial; /* the default as one would write it; "" is to leave the variable unset;
                            cgx_settings_initial has others */
    const char *meaning;
    unsigned slot; /* 0: it changes no results and need not be the same on all ranks */
};

/* What other settings make of the defaults. */
enum cgx_defaults {
    CGX_DEFAULTS_USUAL,
    CGX_DEFAULTS_BYTEGRAD,
    CGX_DEFAULTS_TORCH_CGX,
    CGX_DEFAULTS_FEEDBACK,
    CGX_DEFAULTS_NO_HISTORY,
    CGX_DEFAULTS
};

#endif
