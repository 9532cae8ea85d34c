/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/agreed_calls.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_DECLINED 4
#define MOST_DECLINED (UINT32_MAX / 2)
#define FIRST_HELD 10
#define MOST_HELD 100
#define FIRST_UNWATCHED 10
#define MOST_UNWATCHED 10000
#define CLEAR_ENOUGH 2
#define STRIKES_ENOUGH 2

struct cgx_agreed_calls {
    struct cgx_lru lru; /* of calls without a position */
    struct cgx_agreed_call entries[CGX_LRU_PLACES];
    struct cgx_agreed_call placed[CGX_STEP_LONGEST]; /* by position */
};

struct cgx_agreed_calls *cgx_agreed_calls_create(void)
{
    return calloc(1, sizeof(struct cgx_agreed_calls));
}

void cgx_agreed_calls_free(struct cgx_agreed_calls *table)
{
    free(table);
}

void cgx_agreed_calls_clear(struct cgx_agreed_calls *table)
{
    memset(&table->lru, 0, sizeof table->lru);
    /* What was never touched need not be now: most tables are nearly empty. */
    for (size_t i = 0; i < CGX_STEP_LONGEST; i++) {
        if (table->placed[i].used)
            table->placed[i].used = false;
    }
}

/* Whether ENTRY, of a position, is that of KEY. */
static bool is_entry(const struct cgx_agreed_call *entry, const struct cgx_call_key *key)
{
    return entry->used && entry->key.call == key->call && entry->key.rule == key->rule &&
           entry->key.generation == key->generation;
}

static struct cgx_lru_key lru_key(const struct cgx_call_key *key)
{
    return (struct cgx_lru_key){key->call, key->rule};
}

struct cgx_agreed_call *cgx_agreed_calls_find(struct cgx_agreed_calls *table,
                                              const struct cgx_call_key *key)
{
    struct cgx_agreed_call *entry;
    bool is_new;

    if (key->position != CGX_POSITION_NONE) {
        entry = &table->placed[key->position];
        is_new = !is_entry(entry, key);
    } else {
        entry = &table->entries[cgx_lru_find(&table->lru, lru_key(key), &is_new)];
    }
    if (is_new)
        *entry = (struct cgx_agreed_call){.used = true,
                                          .key = *key,
                                          .next_declined = FIRST_DECLINED,
                                          .next_held = FIRST_HELD,
                                          .next_unknown = 1,
                                          .next_unwatched = FIRST_UNWATCHED};
    return entry;
}

bool cgx_agreed_calls_peek(const struct cgx_agreed_calls *table, const struct cgx_call_key *key)
{
    size_t place;

    if (key->position != CGX_POSITION_NONE)
        return is_entry(&table->placed[key->position], key) &&
               table->placed[key->position].state == CGX_CALL_COMPRESSED;
    place = cgx_lru_peek(&table->lru, lru_key(key));
    return place < CGX_LRU_PLACES && table->entries[place].state == CGX_CALL_COMPRESSED;
}

/* ---- what becomes of an entry ---- */

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

bool cgx_call_due(struct cgx_agreed_call *call)
{
    if (call->wait > 0) {
        call->wait--;
        return false;
    }
    return true;
}

void cgx_call_agree(struct cgx_agreed_call *call)
{
    call->state = CGX_CALL_COMPRESSED;
    call->wait = 0;
    call->clear = call->strikes = 0;
}

static void stay_exact(struct cgx_agreed_call *call, enum cgx_call_state state, uint32_t *next,
                       uint32_t most)
{
    call->state = state;
    call->wait = *next;
    *next = at_most(2 * *next, most);
    call->clear = call->strikes = 0;
}

void cgx_call_decline(struct cgx_agreed_call *call, enum cgx_reason reason)
{
    call->reason = reason == CGX_REASON_NONE ? CGX_REASON_OTHER_RANK : reason;
    stay_exact(call, CGX_CALL_DECLINED, &call->next_declined, MOST_DECLINED);
}

void cgx_call_hold(struct cgx_agreed_call *call)
{
    stay_exact(call, CGX_CALL_HELD, &call->next_held, MOST_HELD);
}

bool cgx_call_clears(struct cgx_agreed_call *call)
{
    if (++call->clear == CLEAR_ENOUGH)
        return true;
    call->wait = FIRST_HELD;
    return false;
}

void cgx_call_puzzle(struct cgx_agreed_call *call)
{
    call->wait = call->next_unknown;
    call->next_unknown = at_most(2 * call->next_unknown, MOST_HELD);
}

void cgx_call_strike(struct cgx_agreed_call *call, unsigned strikes)
{
    call->strikes = (uint8_t)at_most(strikes + 1, STRIKES_ENOUGH);
}

bool cgx_call_has_struck_out(const struct cgx_agreed_call *call)
{
    return call->strikes == STRIKES_ENOUGH;
}

void cgx_call_trust(struct cgx_agreed_call *call)
{
    call->strikes = 0;
    call->unwatched = call->next_unwatched;
    call->next_unwatched = at_most(2 * call->next_unwatched, MOST_UNWATCHED);
}

bool cgx_call_watched(struct cgx_agreed_call *call)
{
    if (call->unwatched == 0)
        return true;
    call->unwatched--;
    return false;
}
