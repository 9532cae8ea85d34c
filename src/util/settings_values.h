/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Keys and their values as text: environment variables, words of rules, hints. A table has a row
 * for each key, whose type parses the value. */
#ifndef CGX_UTIL_SETTINGS_VALUES_H
#define CGX_UTIL_SETTINGS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The width of elements that are sent uncompressed. */
#define CGX_BITS_EXACT 32

/* With a number of elements: times decide about more. */
#define CGX_MINIMAL_AUTO (UINT64_C(1) << 63)

/* Families of quantisation, in the order of their table (codec/encoding.h). */
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

struct cgx_key;

/* Parses TEXT into *VALUE. False if TEXT is not of the parser's type; *VALUE is then undefined. The
 * types: */
typedef bool cgx_settings_parser(const struct cgx_key *row, const char *text, uint64_t *value);
cgx_settings_parser cgx_value_integer;
/* An integer, at least LEAST; smaller ones mean LEAST. "auto": MOST with CGX_MINIMAL_AUTO. */
cgx_settings_parser cgx_value_elements;
cgx_settings_parser cgx_value_mebibytes; /* an integer from LEAST to MOST, in MiB; the value is
                                            in bytes */
/* A word of VALUES: LEAST + its index, modulo MOST unless that is 0; other words for booleans too
 * if VALUES begin with "0, 1". */
cgx_settings_parser cgx_value_choice;
cgx_settings_parser cgx_value_codec; /* a word of CGX_CODECS: LEAST + its enum cgx_family */
cgx_settings_parser cgx_value_width; /* an integer from LEAST to MOST; "exact": CGX_BITS_EXACT */
/* A width; or MIN:MAX, both from LEAST to MOST, which means MAX. */
cgx_settings_parser cgx_value_bits;
cgx_settings_parser cgx_value_topology; /* "auto", "flat", or NxL, each from LEAST to MOST */
cgx_settings_parser cgx_value_content;  /* a file: the hash of its content */
cgx_settings_parser cgx_value_path;     /* a path: 1 */

/* Every value is parsed into 64 bits: an integer, or the index of a word. Values are compared and
 * copied into fields without regard to their type. */
struct cgx_key {
    struct cgx_setting about;
    cgx_settings_parser *parse;
    uint64_t least, most;
    /* Offset and size of the field, in the struct that the table fills; size 0: none. */
    size_t offset, size;
    size_t path; /* offset of the field for the text itself; 0: none */
};

/* Sets the fields of ROW in the struct at FIELDS from TEXT. False if TEXT is refused. */
bool cgx_key_read(const struct cgx_key *row, const char *text, void *fields);

#endif
