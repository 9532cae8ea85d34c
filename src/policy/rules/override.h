/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is said of a call, by rules and hints (rules.h). */
#ifndef CGX_POLICY_RULES_OVERRIDE_H
#define CGX_POLICY_RULES_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layers within one buffer, in order. */
struct cgx_layer_size {
    uint64_t count; /* elements, at least 1 */
    unsigned bits;  /* 1-8, CGX_BITS_EXACT, or 0: as the call */
};

struct cgx_layer_list {
    struct cgx_layer_list *next; /* of several that a hint has; the call's is found by its total */
    uint64_t total;              /* elements of all */
    size_t nlayers;
    struct cgx_layer_size layers[];
};

/* Whether a call recurs: as found in the stream of calls, or as is said. */
enum cgx_recurs { CGX_RECURS_FOUND, CGX_RECURS_ALWAYS, CGX_RECURS_NEVER };

enum cgx_switch { CGX_SWITCH_UNSET, CGX_SWITCH_ON, CGX_SWITCH_OFF };
/* 1 more than enum cgx_family. */
#define CGX_CODEC_AS_SET 0u
#define CGX_CODEC(family) (1u + (family)) /* an enum cgx_family */

/* What is said of a call. All zero: nothing is. */
struct cgx_override {
    bool exact; /* where it never recurs too; nothing but RECURS and RULE is set then */
    enum cgx_recurs recurs;
    enum cgx_switch consensus;           /* whether it is looked for */
    unsigned least, most;                /* widths, 1-8; 0: not said; equal: a fixed width */
    unsigned codec;                      /* CGX_CODEC, of widths that it has */
    const struct cgx_layer_list *layers; /* NULL: not said; they add up to the call's count */
    unsigned rule;                       /* number of the rule from 1; 0: none */
};

/* Where parsing stopped; for messages. Line and column count from 1. */
struct cgx_rules_error {
    unsigned line, column;
    char message[160]; /* what is wrong and what is allowed */
};

enum cgx_hint {
    CGX_HINT_ENABLE,    /* 0, 1, true, false */
    CGX_HINT_BITS,      /* N, MIN:MAX or exact */
    CGX_HINT_CODEC,     /* CGX_CODECS */
    CGX_HINT_LAYERS,    /* "4096,1048576:8,512:exact"; several lists separated by ";", each for the
                           buffers of as many elements as it adds up to */
    CGX_HINT_RECURS,    /* always, never */
    CGX_HINT_CONSENSUS, /* off, on */
    CGX_HINT_STEP,      /* a number of calls, up to CGX_STEP_LONGEST */
    CGX_HINTS
};

#endif
