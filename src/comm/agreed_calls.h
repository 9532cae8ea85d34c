/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What ranks have agreed about the recurring calls of one communicator: a bounded table, by
 * position in the step where that is known, else by count and type; handles and pointers are never
 * part of it. What is forgotten when it is full depends on the sequence of look-ups alone, and what
 * becomes of an entry on what all ranks have seen, so that all hold the same. */
#ifndef CGX_COMM_AGREED_CALLS_H
#define CGX_COMM_AGREED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/reason.h"
#include "policy/consensus.h"
#include "policy/recurrence.h"
#include "util/lru.h"

/* Which calls are one entry. */
struct cgx_call_key {
    uint64_t call;       /* cgx_recurrence_key */
    size_t position;     /* CGX_POSITION_NONE: not known */
    uint64_t generation; /* of positions */
    unsigned rule;       /* of CGX_RULES that the calls follow; 0: none */
};

enum cgx_call_state {
    CGX_CALL_NEW,        /* ranks have not asked each other */
    CGX_CALL_COMPRESSED, /* they have agreed to compress */
    CGX_CALL_DECLINED,   /* some rank cannot: exact for a while, then they ask again */
    CGX_CALL_HELD,       /* ranks contribute nearly the same: likewise */
};

struct cgx_agreed_call {
    struct cgx_call_key key;
    bool used; /* false: this place is empty */
    enum cgx_call_state state;
    enum cgx_reason reason; /* why this rank finds them declined */
    uint32_t wait;          /* calls that stay exact before ranks ask each other again */
    uint32_t next_declined, next_held, next_unknown; /* waits after they do not agree again */
    uint32_t looks;     /* how often they have looked at the data of an exact call */
    uint32_t unwatched; /* compressed calls in which a consensus is not looked for */
    uint32_t next_unwatched;
    uint8_t clear;   /* verdicts in a row that were far from a consensus */
    uint8_t strikes; /* compressed calls in a row that were one */
    bool sampled; /* this rank has an opinion of the last call, or none where it could not look */
    uint32_t opinion[CGX_OPINION_WORDS];
};

struct cgx_agreed_calls;
struct cgx_agreed_calls *cgx_agreed_calls_create(void); /* NULL if memory is short */
void cgx_agreed_calls_free(struct cgx_agreed_calls *table);

/* Forgets all. */
void cgx_agreed_calls_clear(struct cgx_agreed_calls *table);

/* The entry of KEY, new if there is none. Valid until the next look-up. */
struct cgx_agreed_call *cgx_agreed_calls_find(struct cgx_agreed_calls *table,
                                              const struct cgx_call_key *key);

/* Whether calls of KEY are compressed; is no look-up. */
bool cgx_agreed_calls_peek(const struct cgx_agreed_calls *table, const struct cgx_call_key *key);

/* True if ranks are to ask each other in this call; counts the call otherwise. */
bool cgx_call_due(struct cgx_agreed_call *call);

/* They have agreed to compress. */
void cgx_call_agree(struct cgx_agreed_call *call);

/* Some rank cannot: they ask again after 4, 8, 16, ... calls. REASON: of this one; CGX_REASON_NONE:
 * it could. */
void cgx_call_decline(struct cgx_agreed_call *call, enum cgx_reason reason);

/* A consensus: they ask again after 10, 20, 40, 80, 100, 100, ... calls. */
void cgx_call_hold(struct cgx_agreed_call *call);

/* A call that was held is far from a consensus now. True if it was so twice in a row, and may be
 * compressed; else they ask again after 10 calls. */
bool cgx_call_clears(struct cgx_agreed_call *call);

/* Nothing could be said of the data: they look again after 1, 2, 4, ... 100 calls. */
void cgx_call_puzzle(struct cgx_agreed_call *call);

/* A compressed call has turned out to be a consensus, after STRIKES of which the same is true, and
 * was done exactly. The second: whether two in a row have. */
void cgx_call_strike(struct cgx_agreed_call *call, unsigned strikes);
bool cgx_call_has_struck_out(const struct cgx_agreed_call *call);

/* It was none after all: for 10, 20, 40, ... calls a consensus is not looked for in them. */
void cgx_call_trust(struct cgx_agreed_call *call);

/* A call that is compressed. True if a consensus is to be looked for in it. */
bool cgx_call_watched(struct cgx_agreed_call *call);

#endif
