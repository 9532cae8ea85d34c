/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finding the program's step in a sequence of calls. */
#include "policy/step.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

/* Feeds TEXT, a letter a call, REPEATS times; returns how many calls recurred. */
static size_t feed(struct cgx_step *step, const char *text, unsigned repeats)
{
    size_t recurring = 0;

    for (unsigned r = 0; r < repeats; r++) {
        for (const char *call = text; *call; call++)
            recurring += cgx_step_recurs(step, (uint64_t)*call);
    }
    return recurring;
}

static void test_one_off_calls(void)
{
    struct cgx_step *step = cgx_step_create(2);

    ok(feed(step, "AAAAAAAAAA", 1) == 0, "ten calls alike are no step");
    ok(feed(step, "BCD", 4) == 0, "nor are the calls after them, until their step has gone by");
    ok(feed(step, "BCD", 1) == 3, "the step after that recurs, whole");
    ok(cgx_step_period(step) == 3, "its period is three calls");
    cgx_step_free(step);
}

static void test_warmup(void)
{
    struct cgx_step *step = cgx_step_create(2);

    ok(feed(step, "ABCDEFGHIJKLMNOP", 2) == 0, "a step of sixteen calls goes by twice");
    ok(feed(step, "ABCDEFGHIJKLMNOP", 1) == 16, "and recurs the third time, from its first call");
    cgx_step_free(step);

    step = cgx_step_create(5);
    ok(feed(step, "ABCDEFGHIJKLMNOP", 5) == 0 && feed(step, "ABCDEFGHIJKLMNOP", 1) == 16,
       "with a warm-up of five it recurs the sixth time");
    cgx_step_free(step);

    step = cgx_step_create(2);
    ok(feed(step, "A", 12) == 0 && feed(step, "A", 1) == 1, "a step of one call needs twelve");
    cgx_step_free(step);
}

static void test_strays(void)
{
    struct cgx_step *step = cgx_step_create(2);

    feed(step, "xABCyzABC", 1);
    feed(step, "ABC", 5);
    ok(feed(step, "ABC", 10) == 30, "an irregular first step is forgotten");
    ok(feed(step, "AB", 1) == 2 && feed(step, "M", 1) == 0 && feed(step, "CABC", 1) == 4,
       "a stray call is exact and the step goes on behind it");
    ok(feed(step, "UVWXYZ", 1) == 0 && feed(step, "ABC", 1) == 3, "so are six in a row");
    feed(step, "A", 1);
    feed(step, "ABC", 3);
    ok(feed(step, "ABC", 5) == 15, "a step cut short is found again");
    ok(feed(step, "PQRST", 2) == 0 && feed(step, "PQRST", 1) == 3,
       "another step takes its place once it has gone by");
    cgx_step_free(step);
}

static void test_runs_within_a_step(void)
{
    struct cgx_step *step = cgx_step_create(2);

    feed(step, "AAAAAAAAAAAAAAAAAAAAAAAAB", 3);
    ok(cgx_step_period(step) == 25, "a run of 24 calls alike and another one are one step");
    ok(feed(step, "AAAAAAAAAAAAAAAAAAAAAAAAB", 2) == 50, "all of which recurs");
    cgx_step_free(step);
}

/* The slow definition: the shortest period of those with the longest run. */
static size_t slow_period(const uint64_t *calls, size_t count)
{
    size_t best = 0, best_run = 0;

    for (size_t p = 1; p <= count / 2; p++) {
        size_t n = 0;

        while (n + p < count && calls[count - 1 - n] == calls[count - 1 - n - p])
            n++;
        if (n >= p && n + p >= CGX_STEP_EVIDENCE && n + p > best_run) {
            best = p;
            best_run = n + p;
        }
    }
    return best;
}

static void test_against_definition(void)
{
    uint64_t calls[40];
    unsigned wrong = 0, found = 0;

    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        struct cgx_step *step = cgx_step_create(2);
        size_t first = 0, expected = 0, period = 1 + (size_t)rand() % 12;

        for (size_t i = 0; i < 40; i++) {
            calls[i] = i < period || rand() % 40 == 0 ? (uint64_t)(rand() % 3) : calls[i - period];
            cgx_step_recurs(step, calls[i]);
            if (expected == 0) {
                expected = slow_period(calls, i + 1);
                first = cgx_step_period(step);
                wrong += first != expected;
            }
        }
        found += expected != 0;
        cgx_step_free(step);
    }
    diag("%u of 20000 random sequences had a step", found);
    ok(found > 10000 && wrong == 0, "the first step found is the one that the definition gives");
}

static void test_long_steps(void)
{
    struct cgx_step *step = cgx_step_create(2);
    size_t recurring = 0;

    for (size_t i = 0; i < 5 * CGX_STEP_LONGEST; i++)
        recurring += cgx_step_recurs(step, i % CGX_STEP_LONGEST);
    ok(cgx_step_period(step) == CGX_STEP_LONGEST && recurring > 2 * CGX_STEP_LONGEST,
       "a step of %d calls is found", CGX_STEP_LONGEST);
    cgx_step_free(step);

    step = cgx_step_create(2);
    recurring = 0;
    for (size_t i = 0; i < 200000; i++)
        recurring += cgx_step_recurs(step, i);
    ok(recurring == 0, "200,000 different calls never recur");
    cgx_step_free(step);
}

static void test_positions(void)
{
    struct cgx_step *step = cgx_step_create(2);
    uint64_t generation;
    bool in_order = true;

    feed(step, "ABCDEF", 2);
    generation = cgx_step_generation(step);
    for (const char *call = "ABCDEF"; *call; call++) {
        cgx_step_recurs(step, (uint64_t)*call);
        in_order = in_order && cgx_step_position(step) == (size_t)(*call - 'A') &&
                   cgx_step_expects(step, cgx_step_position(step)) == (uint64_t)*call;
    }
    ok(in_order, "calls of the step have their positions in it");
    feed(step, "ABX", 1);
    ok(cgx_step_position(step) == CGX_STEP_NOWHERE, "one that it does not expect has none");
    feed(step, "CDEF", 1);
    ok(cgx_step_position(step) == 5 && cgx_step_generation(step) == generation,
       "and leaves those of the others as they were");
    feed(step, "GHIJKLMN", 4);
    ok(cgx_step_generation(step) != generation, "another step is another generation");
    cgx_step_free(step);

    step = cgx_step_create(0);
    ok(feed(step, "ABCDEF", 4) == 24 && cgx_step_position(step) == 5,
       "without a warm-up every call recurs, and has a position once there is a step");
    cgx_step_free(step);
}

int main(void)
{
    test_positions();
    test_one_off_calls();
    test_warmup();
    test_strays();
    test_runs_within_a_step();
    test_against_definition();
    test_long_steps();
    return done_testing();
}
