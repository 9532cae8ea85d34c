/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What rules (rules.h) and hints set for a call, and how that is read. */
#ifndef CGX_POLICY_RULES_OVERRIDE_H
#define CGX_POLICY_RULES_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/format.h"
#include "util/settings_values.h"

struct cgx_layer_size {
    uint64_t count; /* elements, at least 1 */
    unsigned bits;  /* 1-8, CGX_BITS_EXACT, or 0 for the call's width */
};

struct cgx_layer_list {
    /* The next list of a hint, which may have several: a call's count selects one. */
    struct cgx_layer_list *next;
    uint64_t total;
    size_t nlayers;
    struct cgx_layer_size layers[];
};

/* Whether a call recurs: detected, or set by the user. */
enum cgx_recurs { CGX_RECURS_FOUND, CGX_RECURS_ALWAYS, CGX_RECURS_NEVER };

enum cgx_switch { CGX_SWITCH_UNSET, CGX_SWITCH_ON, CGX_SWITCH_OFF };
/* 1 more than enum cgx_family. */
#define CGX_CODEC_AS_SET 0u
#define CGX_CODEC(family) (1u + (family)) /* an enum cgx_family */

/* What a rule, the hints of a communicator, or both set for calls. All zero: nothing. */
struct cgx_override {
    enum cgx_switch enable; /* hints only */
    enum cgx_recurs recurs;
    enum cgx_switch consensus; /* whether ranks look at data */
    /* 1-8, or CGX_BITS_EXACT, with which nothing but RECURS and RULE is set for a call; 0: not set.
     */
    unsigned bits;
    unsigned codec; /* CGX_CODEC(family), or CGX_CODEC_AS_SET */
    /* Type of the elements that the program's own op sums; CGX_FLOAT32: not set. */
    enum cgx_dtype op;
    /* Lists with different totals, owned by the rule or the hints. For a call it begins with the
     * list that adds up to its count. NULL: not set. */
    struct cgx_layer_list *layers;
    unsigned step;       /* calls in a step of the communicator; 0: not set */
    unsigned rule;       /* number of the rule that applies, from 1; 0: none */
    const char *retired; /* what a retired value stands for, for users; NULL: there was none */
};

/* Frees the layers of SAYS. */
void cgx_override_clear(struct cgx_override *says);

/* Where and why parsing failed. Line and column count from 1. */
struct cgx_rules_error {
    unsigned line, column;
    char message[160]; /* what is wrong and what is allowed */
};

enum cgx_hint {
    CGX_HINT_ENABLE, /* 0, 1, true, false */
    CGX_HINT_BITS,   /* N or exact */
    CGX_HINT_CODEC,  /* CGX_CODECS */
    CGX_HINT_LAYERS, /* "4096,1048576:8,512:exact"; several lists separated by ";", each for buffers
                        of as many elements as it adds up to */
    CGX_HINT_RECURS,
    CGX_HINT_CONSENSUS,
    CGX_HINT_STEP, /* a number of calls, up to CGX_STEP_LONGEST */
    CGX_HINT_OP,
    CGX_HINTS
};

/* ---- hints: MPI_Comm_set_info ---- */

/* The keys of hints in an info, in the order of enum cgx_hint. As actions of a rule they have no
 * "cgx_". */
extern const struct cgx_key cgx_action_keys[CGX_HINTS];

/* Adds hints to HINTS. VALUES[hint] is the value of its key; "" removes an earlier hint, NULL (no
 * such key) leaves it. False: HINTS are unchanged, and *ERROR says why; its message names the key,
 * its line is 1. */
bool cgx_hints_parse(struct cgx_override *hints, const char *const values[CGX_HINTS],
                     struct cgx_rules_error *error);

/* A hash for ranks to compare; 0 if HINTS set nothing. */
uint32_t cgx_hints_hash(const struct cgx_override *hints);

/* HINTS and what a rule has SET for a call of COUNT elements (rules.h) together. Rules win over
 * hints, since users know more than programs. */
struct cgx_override cgx_override_merge(const struct cgx_override *hints,
                                       const struct cgx_override *set, uint64_t count);

/* ---- parsing a line of rules, or a hint ----
 *
 * Functions that return bool fill the scan's error, with its column, on false, and set results only
 * on true. */

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

/* Reads the value of KEY, which was not set before, into its field of the struct at FIELDS. A list
 * of layers is appended to those already there. */
bool cgx_scan_value(struct cgx_scan *scan, const struct cgx_key *key, void *fields);

/* What SAYS sets for a call of COUNT elements. */
struct cgx_override cgx_override_for(const struct cgx_override *says, uint64_t count);

#endif
