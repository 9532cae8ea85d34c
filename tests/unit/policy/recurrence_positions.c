/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where in the step sums are. */
#include <stdlib.h>
#include <string.h>

#include "unit/lib/recurrence.h"

#define STEP 16

/* The position of SUM, which is fed, or -1. */
static int place(char sum)
{
    struct cgx_occurrence occurrence = next(count_of(sum));

    return occurrence.position == CGX_POSITION_NONE ? -1 : (int)occurrence.position;
}

/* Whether SUM is what POSITION expects. */
static bool is_expected(int position, char sum)
{
    struct cgx_callsite_key key = cgx_recurrence_expects(recurrence, (size_t)position);

    return key.count == count_of(sum) && key.type == 1 && key.position == (uint32_t)position;
}

static void test_positions(void)
{
    uint64_t generation;
    bool in_order = true, expected = true;
    int at;

    begin(2, 0);
    feed(LETTERS, 2);
    generation = recurrence->pattern.generation;
    ok(generation > 0, "a step is found: a generation");
    for (const char *sum = LETTERS; *sum; sum++) {
        at = place(*sum);
        in_order = in_order && at == *sum - 'A';
        expected = expected && is_expected(*sum - 'A', *sum);
    }
    ok(in_order && expected, "its sums have their positions in it");
    ok(place('Z') == -1 && place('A') == 0, "a stray has none");
    ok(recurrence->pattern.generation == generation, "and changes nothing");
    feed("QRSTUVWXYZ123456789", 40);
    ok(recurrence->pattern.generation > generation && recurrence->pattern.length == 19,
       "another step, gone by often enough, is another generation");
    at = place('Q');
    ok(at >= 0 && is_expected(at, 'Q'), "with positions of its own");
}

static void test_layers(void)
{
    bool wrong = false;
    int placed = 0;

    begin(2, 0);
    for (unsigned step = 0; step < 4; step++) {
        feed("E", 1);
        feed("AaBbCcDd", 12);
        feed("H", 1);
    }
    /* One sum is left out: it could be in any layer then. */
    ok(place('E') == 0 && place('A') == 1, "the step is followed");
    for (int i = 3; i < 49; i++) {
        int at = place((char)('A' + (i - 1) % 4));

        wrong = wrong || (at >= 0 && (at != i || i < 45));
    }
    ok(!wrong, "where a sum was left out within layers alike, none is told but in the last layer");
    ok(place('H') == 49, "a sum that only one position explains is told again");
    for (const char *sum = "EABCDABCDABCD"; *sum; sum++)
        placed += place(*sum) == placed;
    ok(placed == 13, "and all after it");
}

/* Steps with sums left out and new ones between: counts positions that are wrong, or told of none.
 */
static void test_left_out(void)
{
    size_t wrong = 0, told = 0, sums = 0;

    begin(2, 0);
    srand(2);
    feed(LETTERS, 20);
    for (unsigned step = 0; step < 20000; step++) {
        int first = rand() % 8 == 0 ? rand() % STEP : STEP, left_out = rand() % 6;

        for (int i = 0; i < STEP; i++) {
            int at;

            if (i >= first && i < first + left_out)
                continue;
            if (rand() % 50 == 0)
                next(20000 + (uint64_t)rand() % 80000);
            at = place((char)('A' + i));
            sums++;
            told += at >= 0;
            wrong += at >= 0 && at != i;
        }
    }
    diag("%zu of %zu sums have a position", told, sums);
    ok(wrong == 0, "whatever is left out, no position is wrong");
    ok(told * 100 >= sums * 97, "and most are told");
}

static void test_out_of_order(void)
{
    unsigned begun = 0, wrong = 0;

    begin(2, 0);
    feed(LETTERS, 20);
    for (unsigned step = 0; step < 100; step++) {
        for (int i = 0; i < STEP; i++) {
            struct cgx_occurrence occurrence = next(count_of((char)('A' + i)));

            begun += occurrence.begins_step;
            wrong += occurrence.position != (size_t)i;
            if (i == 9 && next(count_of('B')).position != CGX_POSITION_NONE)
                wrong++;
        }
    }
    ok(wrong == 0, "a stray that looks like an earlier sum of the step has no position");
    ok(begun == 100, "and begins none");
}

static void test_begins(void)
{
    size_t begun = 0, wrong = 0;

    begin(2, 0);
    srand(3);
    for (unsigned step = 0; step < 2; step++)
        wrong += feed(LETTERS, 1);
    for (unsigned step = 0; step < 5000; step++) {
        bool cut = rand() % 4 == 0, once = false;

        for (int i = cut ? 1 + rand() % 3 : 0; i < STEP; i++) {
            struct cgx_occurrence occurrence = next(count_of((char)('A' + i)));

            wrong += occurrence.begins_step &&
                     (once || occurrence.position == CGX_POSITION_NONE || i > 4);
            once = once || occurrence.begins_step;
        }
        begun += once;
    }
    ok(begun == 5000 && wrong == 0, "each step begins once, at its first sum that has a position");

    begin(2, 0);
    begun = 0;
    for (unsigned i = 0; i < 100; i++)
        begun += next(100000).begins_step;
    ok(begun == 84, "each sum of a flat buffer begins a step");
}

static void test_told(void)
{
    size_t recurring = 0, wrong = 0, begun = 0;

    begin(2, 24);
    for (size_t i = 0; i < 10 * 24; i++) {
        struct cgx_occurrence occurrence = next(1 << 20);

        next(1024);
        recurring += occurrence.recurs;
        begun += occurrence.begins_step;
        wrong += occurrence.position != (i < 48 ? CGX_POSITION_NONE : i % 24);
    }
    ok(recurring == 8 * 24, "24 equal layers recur after two steps, where the user says 24");
    ok(wrong == 0 && begun == 8, "at their positions, a step of 24 at a time");
    cgx_recurrence_set_step(recurrence, 24);
    ok(recurrence->pattern.length == 24, "the same said again changes nothing");
    cgx_recurrence_set_step(recurrence, 12);
    ok(recurrence->pattern.length == 0, "another step said ends what was followed");
    for (unsigned i = 0; i < 48; i++)
        recurring += next(1 << 20).recurs;
    ok(recurring == 8 * 24 + 48 && recurrence->pattern.length == 12,
       "sums go on to recur, and the new one is followed");
    cgx_recurrence_set_step(recurrence, 0);
    for (unsigned i = 0; i < 48; i++)
        next(1 << 20);
    ok(recurrence->pattern.length == 1, "taken back, the step is found as ever");

    begin(0, 6);
    ok(feed("ABCABD", 5) == 30 && place('A') == 0 && place('B') == 1,
       "a step may be told without warm-up");

    begin(2, 7);
    ok(feed("ABCDEF", 100) == 0, "where the step is not what the user says, nothing is");
}

int main(void)
{
    test_positions();
    test_layers();
    test_left_out();
    test_out_of_order();
    test_begins();
    test_told();
    cgx_recurrence_free(recurrence);
    return done_testing();
}
