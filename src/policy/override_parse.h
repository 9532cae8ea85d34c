/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Reads what rules and hints have in common, a line at a time. What
 * returns bool fills the scan's error where it returns false, with the column where it went wrong;
 * results are set only where it returns true. */
#ifndef CGX_POLICY_OVERRIDE_PARSE_H
#define CGX_POLICY_OVERRIDE_PARSE_H

#include "policy/rules.h"

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

/* A width, or MIN:MAX; both are CGX_BITS_EXACT for "32" and "exact". */
bool cgx_scan_widths(struct cgx_scan *scan, unsigned *least, unsigned *most);

/* SIZE[:BITS], with commas between them and blanks behind these. The caller frees *LIST. */
bool cgx_scan_layers(struct cgx_scan *scan, struct cgx_layer_list **list);

/* always or never; off or on; a number of calls. */
bool cgx_scan_recurs(struct cgx_scan *scan, enum cgx_recurs *recurs);
bool cgx_scan_consensus(struct cgx_scan *scan, enum cgx_said *consensus);
bool cgx_scan_step(struct cgx_scan *scan, size_t *calls);

#endif
