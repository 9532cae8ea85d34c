/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A CGX_ variable and its defaults. */
#ifndef CGX_UTIL_SETTING_H
#define CGX_UTIL_SETTING_H

/* The width of a call or segment that is sent uncompressed. */
#define CGX_BITS_EXACT 32

/* Families of quantisation, in the order of their table (codec/quantiser.h). */
enum cgx_family { CGX_FAMILY_MAXMIN, CGX_FAMILY_UNIFORM, CGX_FAMILIES };
#define CGX_CODECS "auto, uniform, maxmin" /* auto: uniform */

/* Space for the paths in CGX_RULES, CGX_STATS and CGX_TRACE; longer ones are refused. */
#define CGX_SETTINGS_PATH_BYTES 4096

/* A variable's row of the table. */
struct cgx_setting {
    const char *name;
    const char *values;  /* the allowed values, for people */
    const char *initial; /* the default as a user would write it; "": unset; cgx_settings_initial
                            has other defaults */
    const char *meaning;
    unsigned slot; /* see cgx_settings_words; 0: it changes no results and may differ between
                      ranks */
};

/* Sets of defaults, which other settings select. */
enum cgx_defaults { CGX_DEFAULTS_USUAL, CGX_DEFAULTS_NO_HISTORY, CGX_DEFAULTS };

#endif
