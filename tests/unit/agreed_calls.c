/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The table of what ranks have agreed, and what becomes of its entries. */
#include "comm/agreed_calls.h"

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

static void test_waits(void)
{
    static const unsigned declined[] = {4, 8, 16, 32}, held[] = {10, 20, 40, 80, 100, 100};
    static const unsigned puzzled[] = {1, 2, 4, 8, 16, 32, 64, 100, 100};
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);

    ok(cgx_call_due(call), "ranks ask each other in the first call");
    ok(waits_are(call, decline, declined, 4),
       "after a rank could not, they ask again at doubling intervals");
    ok(waits_are(call, cgx_call_hold, held, 6), "after a consensus, after 10, 20, ... 100 calls");
    ok(waits_are(call, cgx_call_puzzle, puzzled, 9),
       "where nothing could be said, after 1, 2, 4, ... 100 calls");
    cgx_call_agree(call);
    ok(call->state == CGX_CALL_COMPRESSED && cgx_call_due(call), "then they may agree");
    cgx_agreed_calls_free(table);
}

static void test_clearing(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);

    cgx_call_hold(call);
    wait_for(call);
    ok(!cgx_call_clears(call), "one verdict does not clear a call that was held");
    ok(wait_for(call) == 10, "the next is asked for soon");
    ok(cgx_call_clears(call), "two in a row do");
    cgx_call_hold(call);
    wait_for(call);
    cgx_call_clears(call);
    cgx_call_hold(call);
    wait_for(call);
    ok(!cgx_call_clears(call), "a consensus between them takes the first back");
    cgx_agreed_calls_free(table);
}

static void test_strikes(void)
{
    struct cgx_agreed_calls *table = cgx_agreed_calls_create();
    struct cgx_agreed_call *call = find(table, 42);
    unsigned unwatched = 0;

    cgx_call_agree(call);
    cgx_call_strike(call, 0);
    ok(!cgx_call_has_struck_out(call), "one compressed call that was a consensus may be a stray");
    cgx_call_strike(call, call->strikes);
    ok(cgx_call_has_struck_out(call), "two in a row are not");
    cgx_call_trust(call);
    while (!cgx_call_watched(call))
        unwatched++;
    ok(unwatched == 10 && !cgx_call_has_struck_out(call),
       "where it was none after all, it is not looked for in ten calls");
    cgx_call_trust(call);
    for (unwatched = 0; !cgx_call_watched(call);)
        unwatched++;
    ok(unwatched == 20, "and the next time not in twenty");
    cgx_agreed_calls_free(table);
}

int main(void)
{
    test_memory();
    test_positions();
    test_waits();
    test_clearing();
    test_strikes();
    return done_testing();
}
