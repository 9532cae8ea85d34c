/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What rules and hints can say, and how it is read, a line at a time. What returns bool fills the
 * scan's error where it returns false, with the column where it went wrong; results are set only
 * where it returns true. */
#ifndef CGX_POLICY_RULES_OVERRIDE_PARSE_H
#define CGX_POLICY_RULES_OVERRIDE_PARSE_H

#include "policy/rules/override.h"
#include "util/settings_values.h"

/* Longer words are cut, and then stand for nothing that is allowed. */
#define CGX_TOKEN_BYTES 32

struct cgx_scan {
    const char *begin, *end; /* of the line; any bytes */
    const char *at;          /* what comes next */
    const char *key;         /* whose value is read, for messages; NULL: none */
    unsigned line;
    struct cgx_rules_error *error;
};

/* Fill the error with what is wrong at AT; false. The second shows the word there and says what is
 * allowed in its place. */
bool cgx_scan_fail(struct cgx_scan *scan, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool cgx_scan_refuse(struct cgx_scan *scan, const char *at, const char *allowed);

/* Passes over spaces and tabs. */
void cgx_scan_blanks(struct cgx_scan *scan);

/* Whether the line, or all of it but a comment, has been read. */
bool cgx_scan_over(const struct cgx_scan *scan);

/* Whether "->" comes next. */
bool cgx_scan_arrow(const struct cgx_scan *scan);

/* Whether what was read last ends here: at a blank, an arrow, a comment or the end. */
bool cgx_scan_ends(const struct cgx_scan *scan);

/* The word that comes next, up to where one ends, a double quote or a character of STOPS; "" if
 * there is none. Control characters turn into question marks, which no number or name has. */
void cgx_scan_token(struct cgx_scan *scan, const char *stops, char token[CGX_TOKEN_BYTES]);

/* What the actions of a rule, or the hints of a communicator, say. All zero: nothing. */
struct cgx_actions {
    enum cgx_switch enable; /* of hints alone */
    uint32_t bits;          /* MIN << 16 | MAX; both CGX_BITS_EXACT: exact */
    struct cgx_layer_list
        *layers; /* owned; of hints several, no two of which have the same total */
    enum cgx_recurs recurs;
    enum cgx_switch consensus;
    unsigned codec; /* as in struct cgx_override */
    uint32_t step;
};

/* Their keys as hints, in the order of enum cgx_hint; a rule's word is what is behind "cgx_". */
extern const struct cgx_key cgx_action_keys[CGX_HINTS];

/* Reads the value of KEY, which has not been said before, into its field of the struct at FIELDS:
 * of layers one list, behind those that there are. */
bool cgx_scan_value(struct cgx_scan *scan, const struct cgx_key *key, void *fields);

/* What ACTIONS say of a call of COUNT elements. */
struct cgx_override cgx_actions_override(const struct cgx_actions *actions, uint64_t count);

/* Frees what ACTIONS own. */
void cgx_actions_clear(struct cgx_actions *actions);

#endif
