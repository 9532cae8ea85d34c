/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/agreed_calls.h"

#include <stdlib.h>
#include <string.h>

#include "util/pages.h"

#define FIRST_DECLINED 4
#define MOST_DECLINED (UINT32_MAX / 2)
#define FIRST_HELD 10
#define MOST_HELD 100
#define FIRST_UNKNOWN 1
#define FIRST_UNWATCHED 1
#define MOST_UNWATCHED 64
#define CLEAR_ENOUGH 4 /* two of them can be compared with sums before the last */
#define STRIKES_ENOUGH 2

struct cgx_agreed_calls {
    struct cgx_lru lru; /* of calls without a position */
    struct cgx_agreed_call entries[CGX_LRU_PLACES];
    size_t placed_end; /* behind the last position that was ever looked up */
    struct cgx_agreed_call placed[CGX_STEP_LONGEST]; /* by position */
};

struct cgx_agreed_calls *cgx_agreed_calls_create(void)
{
    return cgx_sparse_map(sizeof(struct cgx_agreed_calls));
}

/* What is looked at next does not follow what was looked at last. */
static void forget_sums(struct cgx_agreed_call *call)
{
    call->places++;
    free(call->recent);
    call->recent = NULL;
}

void cgx_agreed_calls_free(struct cgx_agreed_calls *table)
{
    for (size_t i = 0; table && i < table->lru.used; i++)
        free(table->entries[i].recent);
    for (size_t i = 0; table && i < table->placed_end; i++)
        free(table->placed[i].recent);
    cgx_sparse_unmap(table, sizeof *table);
}

void cgx_agreed_calls_clear(struct cgx_agreed_calls *table)
{
    for (size_t i = 0; i < table->lru.used; i++)
        forget_sums(&table->entries[i]);
    memset(&table->lru, 0, sizeof table->lru);
    for (size_t i = 0; i < table->placed_end; i++) {
        table->placed[i].used = false;
        forget_sums(&table->placed[i]);
    }
}

/* Whether ENTRY, of a position, is that of KEY. */
static bool is_entry(const struct cgx_agreed_call *entry, const struct cgx_callsite_key *key,
                     uint64_t generation)
{
    return entry->used && entry->key.count == key->count && entry->key.type == key->type &&
           entry->key.rule == key->rule && entry->generation == generation;
}

static struct cgx_lru_key lru_key(const struct cgx_callsite_key *key)
{
    return (struct cgx_lru_key){key->count << 4 | key->type, key->rule};
}

struct cgx_agreed_call *cgx_agreed_calls_find(struct cgx_agreed_calls *table,
                                              const struct cgx_callsite_key *key,
                                              uint64_t generation)
{
    struct cgx_agreed_call *entry;
    bool is_new;

    if (key->position != CGX_POSITION_NONE) {
        entry = &table->placed[key->position];
        if (table->placed_end <= key->position)
            table->placed_end = key->position + 1;
        is_new = !is_entry(entry, key, generation);
    } else {
        entry = &table->entries[cgx_lru_find(&table->lru, lru_key(key), &is_new)];
    }
    if (!is_new)
        return entry;
    free(entry->recent);
    *entry = (struct cgx_agreed_call){.used = true, .key = *key, .generation = generation};
    return entry;
}

bool cgx_agreed_calls_peek(const struct cgx_agreed_calls *table, const struct cgx_callsite_key *key,
                           uint64_t generation)
{
    size_t place;

    if (key->position != CGX_POSITION_NONE)
        return is_entry(&table->placed[key->position], key, generation) &&
               table->placed[key->position].state == CGX_CALL_COMPRESSED;
    place = cgx_lru_peek(&table->lru, lru_key(key));
    return place < CGX_LRU_PLACES && table->entries[place].state == CGX_CALL_COMPRESSED;
}

/* ---- what becomes of an entry ---- */

bool cgx_call_due(struct cgx_agreed_call *call)
{
    return cgx_backoff_due(&call->declined) && cgx_backoff_due(&call->held) &&
           cgx_backoff_due(&call->unknown);
}

void cgx_call_agree(struct cgx_agreed_call *call)
{
    call->state = CGX_CALL_COMPRESSED;
    call->unknown.wait = 0;
    call->clear = call->strikes = 0;
    forget_sums(call);
}

static void stay_exact(struct cgx_agreed_call *call, enum cgx_call_state state)
{
    call->state = state;
    call->clear = call->strikes = 0;
    forget_sums(call);
}

void cgx_call_decline(struct cgx_agreed_call *call, enum cgx_reason reason)
{
    call->reason = reason == CGX_REASON_NONE ? CGX_REASON_OTHER_RANK : reason;
    cgx_backoff_fail(&call->declined, FIRST_DECLINED, MOST_DECLINED);
    stay_exact(call, CGX_CALL_DECLINED);
}

/* ---- looks ---- */

static void hold(struct cgx_agreed_call *call)
{
    cgx_backoff_fail(&call->held, FIRST_HELD, MOST_HELD);
    stay_exact(call, CGX_CALL_HELD);
}

void cgx_call_puzzle(struct cgx_agreed_call *call)
{
    forget_sums(call);
    cgx_backoff_fail(&call->unknown, FIRST_UNKNOWN, MOST_HELD);
}

void cgx_call_judge(struct cgx_agreed_call *call, const struct cgx_verdict *verdict, bool far)
{
    bool was_held = call->state == CGX_CALL_HELD;

    if (!cgx_verdict_forbids(verdict) && (far || !was_held)) {
        if (++call->clear >= CLEAR_ENOUGH)
            cgx_call_agree(call);
        return;
    }
    call->clear = 0;
    if (++call->strikes < STRIKES_ENOUGH && !was_held)
        return;
    hold(call);
}

bool cgx_call_is_unseen(const struct cgx_agreed_call *call)
{
    return call->state == CGX_CALL_NEW && !call->sampled && call->clear + call->strikes == 0;
}

void cgx_call_alarm(struct cgx_agreed_call *call, const struct cgx_verdict *alarm, unsigned strikes)
{
    call->alarm = *alarm;
    call->strikes = strikes < STRIKES_ENOUGH ? (uint8_t)(strikes + 1) : STRIKES_ENOUGH;
}

void cgx_call_confirm(struct cgx_agreed_call *call, const struct cgx_verdict *verdict)
{
    if (verdict->consensus == CGX_CONSENSUS_UNKNOWN)
        return;
    if (!cgx_verdict_forbids(verdict)) {
        call->strikes = 0;
        call->doubted |= 1u << call->alarm.consensus;
        cgx_backoff_fail(&call->unwatched, FIRST_UNWATCHED, MOST_UNWATCHED);
    } else if (call->strikes == STRIKES_ENOUGH) {
        hold(call);
    }
}

void cgx_call_watch(struct cgx_agreed_call *call)
{
    call->watched++;
    if (cgx_backoff_due(&call->unwatched))
        call->doubted = 0;
}

struct cgx_recent *cgx_call_recent(struct cgx_agreed_call *call, size_t most)
{
    if (call->recent && call->recent->most == most)
        return call->recent;
    free(call->recent);
    call->recent = cgx_recent_create(most);
    return call->recent;
}
