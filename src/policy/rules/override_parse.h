/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Parses rules and hints, a line at a time. Functions that return bool fill the scan's error, with
 * its column, on false, and set results only on true. */
#ifndef CGX_POLICY_RULES_OVERRIDE_PARSE_H
#define CGX_POLICY_RULES_OVERRIDE_PARSE_H

#include "policy/rules/override.h"
#include "util/settings_values.h"

/* Longer words are cut; no cut word is valid. */
#define CGX_TOKEN_BYTES 32

struct cgx_scan {
    const char *begin, *end; /* the line, which may have any bytes */
    const char *at;
    const char *key; /* the key whose value is read, for messages; NULL: none */
    unsigned line;
    struct cgx_rules_error *error;
};

/* Set the error at AT and return false. The second quotes the word there and says what is
 * ALLOWED. */
bool cgx_scan_fail(struct cgx_scan *scan, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool cgx_scan_refuse(struct cgx_scan *scan, const char *at, const char *allowed);

/* Skips spaces and tabs. */
void cgx_scan_blanks(struct cgx_scan *scan);

/* Whether the rest of the line is empty or a comment. */
bool cgx_scan_over(const struct cgx_scan *scan);

/* Whether "->" comes next. */
bool cgx_scan_arrow(const struct cgx_scan *scan);

/* Whether the last item ends here: at a blank, an arrow, a comment or the end. */
bool cgx_scan_ends(const struct cgx_scan *scan);

/* Reads the next word, up to its end, a double quote or a character of STOPS; "" if there is none.
 * Control characters become question marks, which no number or name has. */
void cgx_scan_token(struct cgx_scan *scan, const char *stops, char token[CGX_TOKEN_BYTES]);

/* The keys of actions as hints, in the order of enum cgx_hint. In a rule they have no "cgx_". */
extern const struct cgx_key cgx_action_keys[CGX_HINTS];

/* Reads the value of KEY, which was not set before, into its field of the struct at FIELDS. A list
 * of layers is appended to those already there. */
bool cgx_scan_value(struct cgx_scan *scan, const struct cgx_key *key, void *fields);

/* What SAYS sets for a call of COUNT elements. */
struct cgx_override cgx_override_for(const struct cgx_override *says, uint64_t count);

#endif
