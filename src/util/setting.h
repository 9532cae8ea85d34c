/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#ifndef CGX_UTIL_SETTING_H
#define CGX_UTIL_SETTING_H

/* The width of elements that are sent uncompressed. */
#define CGX_BITS_EXACT 32

/* Families of quantisation, in the order of their table (codec/quantiser.h). */
enum cgx_family { CGX_FAMILY_MAXMIN, CGX_FAMILY_UNIFORM, CGX_FAMILIES };
#define CGX_CODECS "auto, uniform, maxmin" /* words of CGX_CODEC; auto means uniform */

/* Space for the paths in CGX_RULES, CGX_STATS and CGX_TRACE; longer ones are refused. */
#define CGX_SETTINGS_PATH_BYTES 4096

/* A row of the table: a variable. */
struct cgx_setting {
    const char *name;
    const char *values;  /* the allowed values, for people */
    const char *initial; /* the usual default, as a user would write it; "": unset */
    const char *meaning;
    /* Its slot in cgx_settings_words; 0: it changes no results and may differ between ranks. */
    unsigned slot;
};

#endif
