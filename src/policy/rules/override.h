/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What rules and hints (rules.h) set for a call. */
#ifndef CGX_POLICY_RULES_OVERRIDE_H
#define CGX_POLICY_RULES_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/format.h"

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

#endif
