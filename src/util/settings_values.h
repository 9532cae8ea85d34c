/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Keys and their values, as text: variables of the environment, words of rules, hints. A table of
 * keys has a row for each; every value is parsed by the type of its row. */
#ifndef CGX_UTIL_SETTINGS_VALUES_H
#define CGX_UTIL_SETTINGS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/setting.h"

struct cgx_key;

/* Sets *VALUE to what TEXT says, which is ...; false: it says nothing of the kind, and *VALUE may
 * be anything. */
typedef bool cgx_settings_parser(const struct cgx_key *row, const char *text, uint64_t *value);
cgx_settings_parser cgx_value_integer;   /* an integer from LEAST to MOST */
cgx_settings_parser cgx_value_power;     /* the same, a power of two */
cgx_settings_parser cgx_value_elements;  /* an integer; below LEAST it means that */
cgx_settings_parser cgx_value_mebibytes; /* an integer, MiB: bytes */
cgx_settings_parser cgx_value_fragment;  /* an integer, or "auto": CGX_FRAGMENT_AUTO */
cgx_settings_parser cgx_value_choice; /* a word of VALUES: its place, from LEAST on; where MOST is
                                         not 0, words from the MOSTth on mean the first again; where
                                         VALUES begin with "0, 1", what booleans are called too */
cgx_settings_parser
    cgx_value_widths;                /* "auto": 0; or MIN:MAX from LEAST to MOST: MIN << 16 | MAX */
cgx_settings_parser cgx_value_width; /* an integer from LEAST to MOST; "exact": CGX_BITS_EXACT */
cgx_settings_parser cgx_value_bits;  /* the same, which is MIN and MAX; or MIN:MAX */
cgx_settings_parser cgx_value_share; /* a real number from 0 to MOST */
cgx_settings_parser cgx_value_positive;  /* a real number above 0 */
cgx_settings_parser cgx_value_reduction; /* a word of VALUES: its place; the MOSTth means LEAST, and
                                            CGX_SETTINGS_SIGN */
cgx_settings_parser cgx_value_rounding;  /* "nearest": 0; "stochastic" or "stochastic:SEED": SEED,
                                            and  CGX_SETTINGS_SIGN */
cgx_settings_parser cgx_value_bounded;  /* a word of VALUES: its place; behind the LEASTth may stand
                                           ":" and a number from 2^-MOST to below 2^MOST: above the
                                           place, as a float32, rounded down */
cgx_settings_parser cgx_value_topology; /* "auto", "flat" or NxL from LEAST to MOST */
cgx_settings_parser cgx_value_content;  /* a file: a hash of what is in it */
cgx_settings_parser cgx_value_path;     /* a path */

/* Every value is parsed into 64 bits: an integer as it is, a word as its place in the list, a real
 * number as its bits. Ranks compare them and fields are filled from them without knowing more. */
struct cgx_key {
    struct cgx_setting about;
    cgx_settings_parser *parse;
    uint64_t least, most;
    const char *others[CGX_DEFAULTS]; /* NULL: the usual default */
    size_t offset, size; /* of the field, in a struct of the table's; size 0: there is none */
    size_t path;         /* of the field for the text itself; 0: there is none */
    size_t kind;         /* of the field for CGX_SETTINGS_SIGN of the value; 0: there is none */
    const struct cgx_key *words; /* "KEY=VALUE,KEY=VALUE" is a value too, and means 1 beside them:
                                    keys up to one without a name; NULL: it is not */
};

/* The sign of a number, which tells its kind. */
#define CGX_SETTINGS_SIGN ((uint64_t)1 << 63)

/* Sets the fields of ROW in the struct at FIELDS to what TEXT says. False: it is refused, and
 * nothing is set but what words before the wrong one say. */
bool cgx_key_read(const struct cgx_key *row, const char *text, void *fields);

#endif
