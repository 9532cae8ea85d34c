/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The table of what ranks have agreed, and what becomes of its entries. */
#include "comm/agreed_calls.h"
#include "codec/rotated.h"

#include <math.h>

#include "lib/tap.h"

static struct cgx_call_key unplaced(uint64_t call)
{
    return (struct cgx_call_key){.call = call, .position = CGX_POSITION_NONE};
}

static struct cgx_agreed_call *find(struct cgx_agreed_calls *table, uint64_t call)
{
    return cgx_agreed_calls_find(
        table, &(struct cgx_call_key){.call = call, .position = CGX_POSITION_NONE});
}

static bool is_compressed(struct cgx_agreed_calls *table, uint64_t call)
{
    return find(table, call)->state == CGX_CALL_COMPRESSED;
}

static void test_memory(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_call_key key = unplaced((uint64_t)7 << 14);
    unsigned kept = 0;

    for (uint64_t call = 1; call <= CGX_LRU_PLACES; call++)
        cgx_call_agree(find(table, call << 14));
    for (uint64_t call = 1; call <= CGX_LRU_PLACES; call++)
        kept += is_compressed(table, call << 14);
    ok(kept == CGX_LRU_PLACES, "a thousand counts are remembered, whatever they are");

    for (uint64_t call = 1000; call < 200000; call++) {
        find(table, call);
        find(table, (uint64_t)7 << 14);
    }
    ok(is_compressed(table, (uint64_t)7 << 14), "one in use is never forgotten");
    ok(!is_compressed(table, (uint64_t)8 << 14), "one long unused is, and comes back as new");
    ok(cgx_agreed_calls_peek(table, &key), "what is agreed can be seen without a look-up");
    cgx_agreed_calls_clear(table);
    ok(!cgx_agreed_calls_peek(table, &key) && find(table, key.call)->state == CGX_CALL_NEW,
       "an empty table has new entries alone");
    cgx_agreed_calls_free(table);
}

static void test_positions(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_call_key key = {.call = 1 << 20, .position = 5, .generation = 1};
    struct cgx_call_key other = key, later = key, ruled = key;

    other.position = 6;
    later.generation = 2;
    ruled.rule = 3;
    cgx_call_agree(cgx_agreed_calls_find(table, &key));
    ok(cgx_agreed_calls_find(table, &other)->state == CGX_CALL_NEW,
       "equal calls at two positions are two entries");
    ok(find(table, key.call)->state == CGX_CALL_NEW, "and so is one whose position is not known");
    for (uint64_t call = 1000; call < 200000; call++)
        find(table, call);
    ok(cgx_agreed_calls_peek(table, &key), "no other call takes the place of a position's");
    ok(!cgx_agreed_calls_peek(table, &ruled), "another rule makes another entry");
    ok(cgx_agreed_calls_find(table, &later)->state == CGX_CALL_NEW &&
           !cgx_agreed_calls_peek(table, &key),
       "where positions have got another meaning they are new");
    cgx_agreed_calls_free(table);
}

/* Calls that stay exact until ranks ask each other again. */
static unsigned wait_for(struct cgx_agreed_call *call)
{
    unsigned waits = 0;

    while (!cgx_call_due(call))
        waits++;
    return waits;
}

static bool waits_are(struct cgx_agreed_call *call, void (*refuse)(struct cgx_agreed_call *),
                      const unsigned *expected, int count)
{
    bool right = true;

    for (int i = 0; i < count; i++) {
        refuse(call);
        right = wait_for(call) == expected[i] && right;
    }
    return right;
}

static void decline(struct cgx_agreed_call *call)
{
    cgx_call_decline(call, CGX_REASON_OVERLAP);
}

static const struct cgx_verdict nothing = {CGX_CONSENSUS_NONE, 1, 2};
static const struct cgx_verdict weights = {CGX_CONSENSUS_CLOSE, 1e-3, 2};

/* A look at a call that is far from a consensus, and one at weights. */
static void clear(struct cgx_agreed_call *call)
{
    cgx_call_judge(call, &nothing, true);
}

static void strike(struct cgx_agreed_call *call)
{
    cgx_call_judge(call, &weights, false);
}

static void hold(struct cgx_agreed_call *call)
{
    strike(call);
    if (call->state != CGX_CALL_HELD)
        strike(call);
}

static void test_waits(void)
{
    static const unsigned declined[] = {4, 8, 16, 32}, held[] = {10, 20, 40, 80, 100, 100};
    static const unsigned puzzled[] = {1, 2, 4, 8, 16, 32, 64, 100, 100};
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);

    ok(cgx_call_due(call), "ranks ask each other in the first call");
    ok(waits_are(call, decline, declined, 4),
       "after a rank could not, they ask again at doubling intervals");
    ok(waits_are(call, hold, held, 6), "after a consensus, after 10, 20, ... 100 calls");
    ok(waits_are(call, cgx_call_puzzle, puzzled, 9),
       "where nothing could be said, after 1, 2, 4, ... 100 calls");
    cgx_call_agree(call);
    ok(call->state == CGX_CALL_COMPRESSED && cgx_call_due(call), "then they may agree");
    cgx_agreed_calls_free(table);
}

/* Looks that find nothing until calls are compressed; at most 10. */
static unsigned clears_for(struct cgx_agreed_call *call)
{
    unsigned looks = 0;

    while (call->state != CGX_CALL_COMPRESSED && looks < 10) {
        clear(call);
        looks++;
    }
    return looks;
}

static void test_looks(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42), *other = find(table, 43);
    uint32_t places = other->places;

    ok(cgx_call_is_unseen(call) && clears_for(call) == 4,
       "four looks in a row that find nothing, and calls are compressed");
    clear(other);
    clear(other);
    clear(other);
    strike(other);
    ok(other->state == CGX_CALL_NEW && other->wait == 0 && !cgx_call_is_unseen(other),
       "one that finds something decides nothing");
    ok(other->places == places, "they look at the same elements");
    strike(other);
    ok(other->state == CGX_CALL_HELD && other->wait == 10, "two hold the calls");
    ok(other->places != places, "and the next looks are at others");
    cgx_agreed_calls_free(table);
}

static void test_turns(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);

    strike(call);
    clear(call);
    strike(call);
    ok(call->state == CGX_CALL_HELD, "weights in every second call are held");
    wait_for(call);
    clear(call);
    strike(call);
    ok(call->state == CGX_CALL_HELD && call->wait == 20, "and stay so");
    wait_for(call);
    cgx_call_judge(call, &nothing, false);
    ok(call->state == CGX_CALL_HELD && call->wait == 40, "as what is near a consensus does");
    wait_for(call);
    ok(clears_for(call) == 4, "what is far from one four times is compressed");
    cgx_agreed_calls_free(table);
}

/* Compressed calls, until a look within them looks for what the last alarm was of. */
static unsigned doubts(struct cgx_agreed_call *call)
{
    unsigned calls = 0;

    for (; call->doubted != 0 && calls < 100; calls++)
        cgx_call_watch(call);
    return calls - 1;
}

static void test_alarms(void)
{
    static const unsigned ignored[] = {1, 2, 4, 8, 16, 32, 64, 64};
    static const struct cgx_verdict unknown = {CGX_CONSENSUS_UNKNOWN, NAN, INFINITY};
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);
    bool right = true;

    cgx_call_agree(call);
    for (int i = 0; i < 8; i++) {
        cgx_call_alarm(call, &weights, 0);
        cgx_call_confirm(call, &nothing);
        right = right && call->doubted == 1u << CGX_CONSENSUS_CLOSE && doubts(call) == ignored[i];
    }
    ok(right, "an alarm that is not confirmed is not given again during 1, 2, ... 64 calls");
    cgx_call_alarm(call, &weights, 0);
    cgx_call_confirm(call, &weights);
    ok(call->state == CGX_CALL_COMPRESSED && call->doubted == 0 && call->strikes == 1,
       "one compressed call that was a consensus may be a stray");
    cgx_call_alarm(call, &weights, call->strikes);
    cgx_call_confirm(call, &unknown);
    ok(call->state == CGX_CALL_COMPRESSED && call->doubted == 0,
       "what cannot be looked at is not doubted");
    cgx_call_alarm(call, &weights, 1);
    cgx_call_confirm(call, &weights);
    ok(call->state == CGX_CALL_HELD && call->wait == 10, "two in a row hold the calls");
    cgx_agreed_calls_free(table);
}

static void test_sums(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);
    struct cgx_recent *recent = cgx_call_recent(call, 64);

    ok(recent && recent->most == 64 && cgx_call_recent(call, 64) == recent,
       "the memory of the last sums is kept");
    recent = cgx_call_recent(call, 128);
    ok(recent && recent->most == 128 && recent->count == 0, "or got anew in another size");
    hold(call);
    ok(!call->recent, "what is looked at next has no sums before it");
    cgx_call_recent(call, 64);
    cgx_agreed_calls_clear(table);
    find(table, 42);
    cgx_agreed_calls_free(table);
}

int main(void)
{
    test_memory();
    test_positions();
    test_waits();
    test_looks();
    test_turns();
    test_alarms();
    test_sums();
    return done_testing();
}
