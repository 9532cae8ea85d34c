/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which sums recur, told from their sequence. */
#include "policy/step/recurrence.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/recurrence.h"

static unsigned allocations;
static size_t allocated;

static void count_allocation(size_t size)
{
    allocations++;
    allocated += size;
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
    count_allocation(n * size);
    return __real_calloc(n, size);
}

WRAPPED(void *, cgx_sparse_map, size_t size)
{
    count_allocation(size);
    return __real_cgx_sparse_map(size);
}

WRAPPED(void *, malloc, size_t size)
{
    count_allocation(size);
    return __real_malloc(size);
}

WRAPPED(void *, realloc, void *memory, size_t size)
{
    count_allocation(size);
    return __real_realloc(memory, size);
}

static void test_steps(void)
{
    begin(2, 0);
    ok(feed(LETTERS, 2) == 0, "a step of sixteen sums goes by twice");
    ok(feed(LETTERS, 1) == 16, "and recurs the third time, whole");
    ok(recurrence->pattern.length == 16 && recurrence->evidence == CGX_EVIDENCE_PERIOD &&
           recurrence->established == 32,
       "a period of sixteen was the evidence, after 32 sums");

    begin(2, 0);
    ok(feed("ABCDE", 3) == 0 && feed("ABCDE", 1) == 4,
       "five buckets recur once they have explained sixteen sums");

    begin(2, 0);
    ok(feed("A", 16) == 0 && feed("A", 4) == 4, "so does a flat buffer, after sixteen");

    begin(2, 0);
    ok(feed("ABCD", 10) > 0 && feed("aabc", 10) == 0, "sums below the least size never recur");
}

static void test_warmup(void)
{
    begin(5, 0);
    ok(feed(LETTERS, 5) == 0 && feed(LETTERS, 1) == 16,
       "with a warm-up of five a step recurs the sixth time");

    begin(1, 0);
    ok(feed(LETTERS, 2) == 0 && feed(LETTERS, 1) == 16, "a warm-up of one is one of two");

    begin(1000, 0);
    for (size_t i = 0; i < 20 * 1000; i++)
        next(20000 + i % 1000);
    ok(next(20000).recurs, "more warm-up than can be remembered ends all the same");

    begin(0, 0);
    ok(feed("ABCDEFGHIJKLMNOPaB", 1) == 17, "without warm-up every large sum recurs");
    feed(LETTERS, 20);
    ok(recurrence->pattern.length == 16 && recurrence->evidence == CGX_EVIDENCE_USER,
       "and its step is found in time");
    feed(LETTERS, 10);
    ok(feed("Z", 1) == 1, "strays of it recur too");
}

/* An embedding, 12 layers of four matrices, with biases where BIASES, and a head. */
static size_t pass(bool biases)
{
    return feed("E", 1) + feed(biases ? "AaBbCcDd" : "ABCD", 12) + feed("H", 1);
}

static void test_passes(void)
{
    begin(2, 0);
    ok(pass(true) + pass(true) == 0, "two passes over a model's weights are exact");
    ok(pass(true) == 50, "the third is a step");

    begin(2, 0);
    ok(feed("AaAaBbBb", 1000) == 0, "a thousand layers with biases do not recur");

    /* All at once in another order and in other pieces: elements before the steps are whole steps.
     */
    begin(2, 0);
    for (size_t i = 0; i < 100; i++)
        next(50000 + (i % 2 ? i : 0) * 1000);
    ok(recurrence->evidence == CGX_EVIDENCE_NONE, "a pass over one model is no evidence");
    for (size_t step = 0; step < 10; step++) {
        next(5000000);
        next(100 * 50000 + 2500 * 1000 - 5000000);
    }
    ok(recurrence->evidence == CGX_EVIDENCE_PERIOD,
       "steps that sum as many elements close with it");
}

static void test_strays(void)
{
    size_t recurring = 0;

    begin(2, 0);
    feed(LETTERS, 20);
    ok(feed("ABCDEFGH", 1) == 8 && feed("Z", 1) == 0 && feed("IJKLMNOP", 1) == 8,
       "a stray is exact and the step goes on behind it");
    ok(feed("QRSTUVWX", 1) == 0 && feed(LETTERS, 1) == 16, "so are eight in a row");
    for (unsigned i = 0; i < 30; i++)
        recurring += next(20000).recurs;
    ok(recurring == 0 && feed(LETTERS, 1) == 16, "and an evaluation of thirty sums alike");
}

static void test_two_programs(void)
{
    size_t recurring = 0, begun = 0;

    begin(2, 0);
    for (size_t turn = 0; turn < 40; turn++) {
        const char *program = turn % 2 ? "QRSTUVWXYZ" : LETTERS;

        for (unsigned step = 0; step < 20; step++) {
            for (const char *sum = program; *sum; sum++) {
                struct cgx_occurrence occurrence = next(count_of(*sum));

                recurring += turn >= 20 && occurrence.recurs;
                begun += turn >= 20 && occurrence.begins_step;
            }
        }
    }
    diag("%zu of %d sums recur; %zu of 400 steps begun", recurring, 10 * 20 * 26, begun);
    ok(recurring > 10 * 20 * 26 * 8 / 10, "of two programs in turn most sums recur");
    ok(begun <= 400, "and no step begins twice");
}

static void test_new_counts(void)
{
    size_t recurring = 0, exact = 0;

    begin(2, 0);
    for (uint64_t i = 0; i < 1000000; i++)
        recurring += next(20000 + i).recurs;
    ok(recurring == 0 && recurrence->evidence == CGX_EVIDENCE_NONE,
       "a million counts that never repeat establish nothing");

    begin(2, 0);
    feed(LETTERS, 20);
    for (uint64_t i = 0; i < 100000; i++) {
        exact += 16 - feed(LETTERS, 1);
        recurring += next(20000 + i).recurs;
    }
    diag("%zu new ones recur, %zu of the step do not", recurring, exact);
    ok(recurring < 100 && exact == 0,
       "nor do they recur between steps, a hundred thousand of them");
}

static void test_long_steps(void)
{
    size_t recurring = 0;

    begin(2, 0);
    for (uint64_t i = 0; i < 5 * CGX_STEP_LONGEST; i++)
        recurring += next(20000 + i % CGX_STEP_LONGEST).recurs;
    ok(recurrence->pattern.length == CGX_STEP_LONGEST && recurring > 2 * CGX_STEP_LONGEST,
       "a step of %d sums recurs the third time", CGX_STEP_LONGEST);
}

static void test_determinism(void)
{
    struct cgx_recurrence *first = create(2, 0), *second = create(2, 0);
    uint64_t state = 1;
    size_t different = 0;

    for (size_t i = 0; i < 500000; i++) {
        struct cgx_occurrence a, b;
        uint64_t count;

        state = state * 6364136223846793005u + 1442695040888963407u;
        count = (state >> 60) ? 20000 + 1000 * (i % 23) : 20000 + (state >> 40);
        a = cgx_recurrence_next(first, count, 1);
        b = cgx_recurrence_next(second, count, 1);
        different += a.recurs != b.recurs || a.begins_step != b.begins_step ||
                     a.position != b.position ||
                     first->pattern.generation != second->pattern.generation;
    }
    ok(different == 0, "the same sequence has the same answers");
    cgx_recurrence_free(first);
    cgx_recurrence_free(second);
}

int main(void)
{
    unsigned before;

    free(malloc(1)); /* that all are counted */
    allocated = 0;
    before = allocations;
    cgx_recurrence_free(create(2, 0));
    diag("%zu bytes a communicator", allocated);
    ok(allocations - before == 1 && allocated <= 256 * 1024,
       "a communicator has one block of at most 256 KiB");
    before = allocations;
    test_steps();
    test_warmup();
    test_passes();
    test_strays();
    test_two_programs();
    test_new_counts();
    test_long_steps();
    test_determinism();
    ok(allocations - before == created - 1, "and asks for none later");
    cgx_recurrence_free(recurrence);
    return done_testing();
}
