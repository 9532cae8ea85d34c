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
#include "policy/recent.h"
#include "policy/recurrence.h"
#include "util/backoff.h"
#include "util/lru.h"

enum cgx_call_state {
    CGX_CALL_NEW,        /* ranks have not come to an end with it */
    CGX_CALL_COMPRESSED, /* they have agreed to compress */
    CGX_CALL_DECLINED,   /* some rank cannot: exact for a while, then they ask again */
    CGX_CALL_HELD,       /* its sums are no gradients: likewise */
};

struct cgx_agreed_call {
    struct cgx_callsite_key key;
    uint64_t generation; /* of its position */
    bool used;           /* false: this place is empty */
    enum cgx_call_state state;
    enum cgx_reason reason; /* why this rank finds them declined */
    /* Before ranks ask each other again; one of them at a time. */
    struct cgx_backoff declined, held, unknown;
    /* Looks at the data of exact calls, one after the other. */
    uint8_t clear; /* how many in a row have found nothing against compressing, */
    uint8_t
        strikes;  /* and how many that the sums are no gradients; of compressed calls, in a row */
    bool sampled; /* this rank has an opinion of the last call, or none where it could not look */
    uint32_t opinion[CGX_OPINION_WORDS];
    uint32_t places; /* which elements are looked at */
    /* Looks within compressed calls. */
    uint32_t watched; /* how many there were */
    struct cgx_verdict
        alarm;        /* what the last one has found, if anything, and ranks have not judged */
    uint32_t doubted; /* what they need not look for, a bit for each enum cgx_consensus, ... */
    struct cgx_backoff unwatched; /* ... for so many calls */
    struct cgx_recent *recent;    /* NULL: none, or there is no memory */
};

struct cgx_agreed_calls;
struct cgx_agreed_calls *cgx_agreed_calls_create(void); /* NULL if memory is short */
void cgx_agreed_calls_free(struct cgx_agreed_calls *table);

/* Forgets all. */
void cgx_agreed_calls_clear(struct cgx_agreed_calls *table);

/* The entry of KEY in the GENERATION of positions, new if there is none. Valid until the next
 * look-up. */
struct cgx_agreed_call *cgx_agreed_calls_find(struct cgx_agreed_calls *table,
                                              const struct cgx_callsite_key *key,
                                              uint64_t generation);

/* Whether its calls are compressed; is no look-up. */
bool cgx_agreed_calls_peek(const struct cgx_agreed_calls *table, const struct cgx_callsite_key *key,
                           uint64_t generation);

/* Whether the calls stay exact before ranks ask each other again. */
static inline bool cgx_call_waits(const struct cgx_agreed_call *call)
{
    return call->declined.wait + call->held.wait + call->unknown.wait > 0;
}

/* True if ranks are to ask each other in this call; counts the call otherwise. */
bool cgx_call_due(struct cgx_agreed_call *call);

/* They have agreed to compress. */
void cgx_call_agree(struct cgx_agreed_call *call);

/* Some rank cannot: they ask again after 4, 8, 16, ... calls. REASON: of this one; CGX_REASON_NONE:
 * it could. */
void cgx_call_decline(struct cgx_agreed_call *call, enum cgx_reason reason);

/* Nothing could be said of the data: they look again after 1, 2, 4, ... 100 calls. */
void cgx_call_puzzle(struct cgx_agreed_call *call);

/* Takes the verdict of a look at an exact call; FAR: it is far from any other. Four looks in a row
 * that find nothing, and the calls are compressed. Two that find something, one where they were
 * held, and they are held: ranks look again after 10, 20, 40, 80, 100, 100, ... calls. Else they
 * look at the next call. */
void cgx_call_judge(struct cgx_agreed_call *call, const struct cgx_verdict *verdict, bool far);

/* Whether nothing is known of the calls' data. */
bool cgx_call_is_unseen(const struct cgx_agreed_call *call);

/* A look within a compressed call has found ALARM, after STRIKES such calls in a row; the call was
 * then done exactly. */
void cgx_call_alarm(struct cgx_agreed_call *call, const struct cgx_verdict *alarm,
                    unsigned strikes);

/* Takes the verdict of the look at that exact call: two in a row hold the calls. If it does not
 * confirm the alarm, looks within calls do not look for the same during 1, 2, 4, ... 64 calls. */
void cgx_call_confirm(struct cgx_agreed_call *call, const struct cgx_verdict *verdict);

/* Counts a look within a compressed call. */
void cgx_call_watch(struct cgx_agreed_call *call);

/* The memory of the calls' last sums, of up to MOST elements, got anew if it is of another size;
 * NULL if memory is short. */
struct cgx_recent *cgx_call_recent(struct cgx_agreed_call *call, size_t most);

#endif
