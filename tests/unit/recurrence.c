/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which sums recur, told from their sequence. */
#include "policy/recurrence.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/recurrence.h"

/* Allocations go through these (--wrap). */
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);

static unsigned allocations;
static size_t allocated;

static void count_allocation(size_t size)
{
    allocations++;
    allocated += size;
}

void *__wrap_calloc(size_t n, size_t size)
{
    count_allocation(n * size);
    return __real_calloc(n, size);
}

void *__wrap_malloc(size_t size)
{
    count_allocation(size);
    return __real_malloc(size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    count_allocation(size);
    return __real_realloc(memory, size);
}

static void test_steps(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);
    uint64_t sums;

    ok(feed(recurrence, LETTERS, 2) == 0, "a step of sixteen sums goes by twice");
    ok(feed(recurrence, LETTERS, 1) == 16, "and recurs the third time, whole");
    ok(cgx_recurrence_period(recurrence) == 16 &&
           cgx_recurrence_evidence(recurrence, &sums) == CGX_EVIDENCE_PERIOD && sums == 32,
       "a period of sixteen was the evidence, after 32 sums");
    cgx_recurrence_free(recurrence);

    recurrence = create(2, 0);
    ok(feed(recurrence, "ABCDE", 3) == 0 && feed(recurrence, "ABCDE", 1) == 4,
       "five buckets recur once they have explained sixteen sums");
    cgx_recurrence_free(recurrence);

    recurrence = create(2, 0);
    ok(feed(recurrence, "A", 16) == 0 && feed(recurrence, "A", 4) == 4,
       "so does a flat buffer, after sixteen");
    cgx_recurrence_free(recurrence);

    recurrence = create(2, 0);
    ok(feed(recurrence, "ABCD", 10) > 0 && feed(recurrence, "aabc", 10) == 0,
       "sums below the least size never recur");
    cgx_recurrence_free(recurrence);
}

static void test_warmup(void)
{
    struct cgx_recurrence *recurrence = create(5, 0);

    ok(feed(recurrence, LETTERS, 5) == 0 && feed(recurrence, LETTERS, 1) == 16,
       "with a warm-up of five a step recurs the sixth time");
    cgx_recurrence_free(recurrence);

    recurrence = create(1, 0);
    ok(feed(recurrence, LETTERS, 2) == 0 && feed(recurrence, LETTERS, 1) == 16,
       "a warm-up of one is one of two");
    cgx_recurrence_free(recurrence);

    recurrence = create(1000, 0);
    for (size_t i = 0; i < 20 * 1000; i++)
        next(recurrence, 20000 + i % 1000);
    ok(next(recurrence, 20000).recurs, "more warm-up than can be remembered ends all the same");
    cgx_recurrence_free(recurrence);

    recurrence = create(0, 0);
    ok(feed(recurrence, "ABCDEFGHIJKLMNOPaB", 1) == 17, "without warm-up every large sum recurs");
    feed(recurrence, LETTERS, 20);
    ok(cgx_recurrence_period(recurrence) == 16 &&
           cgx_recurrence_evidence(recurrence, NULL) == CGX_EVIDENCE_TOLD,
       "and its step is found in time");
    feed(recurrence, LETTERS, 10);
    ok(feed(recurrence, "Z", 1) == 1, "strays of it recur too");
    cgx_recurrence_free(recurrence);
}

/* An embedding, 12 layers of four matrices, with biases where BIASES, and a head. */
static size_t pass(struct cgx_recurrence *recurrence, bool biases)
{
    return feed(recurrence, "E", 1) + feed(recurrence, biases ? "AaBbCcDd" : "ABCD", 12) +
           feed(recurrence, "H", 1);
}

static void test_passes(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);

    ok(pass(recurrence, true) + pass(recurrence, true) == 0,
       "two passes over a model's weights are exact");
    ok(pass(recurrence, true) == 50, "the third is a step");
    cgx_recurrence_free(recurrence);

    recurrence = create(2, 0);
    ok(feed(recurrence, "AaAaBbBb", 100) == 0, "a hundred layers with biases do not recur");
    cgx_recurrence_free(recurrence);

    /* All at once in another order and in other pieces: elements before the steps are whole steps.
     */
    recurrence = create(2, 0);
    for (size_t i = 0; i < 100; i++)
        next(recurrence, 50000 + (i % 2 ? i : 0) * 1000);
    ok(cgx_recurrence_evidence(recurrence, NULL) == CGX_EVIDENCE_NONE,
       "a pass over one model is no evidence");
    for (size_t step = 0; step < 10; step++) {
        next(recurrence, 5000000);
        next(recurrence, 100 * 50000 + 2500 * 1000 - 5000000);
    }
    ok(cgx_recurrence_evidence(recurrence, NULL) == CGX_EVIDENCE_PERIOD,
       "steps that sum as many elements close with it");
    cgx_recurrence_free(recurrence);
}

static void test_strays(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);
    size_t recurring = 0;

    feed(recurrence, LETTERS, 20);
    ok(feed(recurrence, "ABCDEFGH", 1) == 8 && feed(recurrence, "Z", 1) == 0 &&
           feed(recurrence, "IJKLMNOP", 1) == 8,
       "a stray is exact and the step goes on behind it");
    ok(feed(recurrence, "QRSTUVWX", 1) == 0 && feed(recurrence, LETTERS, 1) == 16,
       "so are eight in a row");
    for (unsigned i = 0; i < 30; i++)
        recurring += next(recurrence, 20000).recurs;
    ok(recurring == 0 && feed(recurrence, LETTERS, 1) == 16,
       "and an evaluation of thirty sums alike");
    cgx_recurrence_free(recurrence);

    recurrence = create(2, 0);
    for (size_t step = 0; step < 60; step++) {
        size_t now = feed(recurrence, "ABCDE", 1);

        recurring += step >= 40 ? now : 0;
        next(recurrence, 1000000 + step * 7);
    }
    ok(cgx_recurrence_evidence(recurrence, NULL) == CGX_EVIDENCE_STRAYS && recurring == 100,
       "a new sum in every step is evidence itself, and the step recurs");
    cgx_recurrence_free(recurrence);
}

static void test_varying(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);
    size_t recurring = 0;

    srand(1);
    for (size_t i = 0; i < 4000; i++)
        recurring += next(recurrence, 20000 + 1000 * (uint64_t)(rand() % 20)).recurs;
    ok(cgx_recurrence_evidence(recurrence, NULL) == CGX_EVIDENCE_VARYING && recurring > 3500,
       "twenty counts in any order go on for long: they recur");
    cgx_recurrence_free(recurrence);
}

static void test_two_programs(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);
    size_t recurring = 0, begun = 0;

    for (size_t turn = 0; turn < 40; turn++) {
        const char *program = turn % 2 ? "QRSTUVWXYZ" : LETTERS;

        for (unsigned step = 0; step < 20; step++) {
            for (const char *sum = program; *sum; sum++) {
                struct cgx_occurrence occurrence = next(recurrence, count_of(*sum));

                recurring += turn >= 20 && occurrence.recurs;
                begun += turn >= 20 && occurrence.begins_step;
            }
        }
    }
    diag("%zu of %d sums recur; %zu of 400 steps begun", recurring, 10 * 20 * 26, begun);
    ok(recurring > 10 * 20 * 26 * 8 / 10, "of two programs in turn most sums recur");
    ok(begun <= 400, "and no step begins twice");
    cgx_recurrence_free(recurrence);
}

static void test_new_counts(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);
    size_t recurring = 0, exact = 0;

    for (uint64_t i = 0; i < 1000000; i++)
        recurring += next(recurrence, 20000 + i).recurs;
    ok(recurring == 0 && cgx_recurrence_evidence(recurrence, NULL) == CGX_EVIDENCE_NONE,
       "a million counts that never repeat establish nothing");
    feed(recurrence, LETTERS, 20);
    ok(feed(recurrence, LETTERS, 1) == 16, "and hinder nothing after them");

    for (uint64_t i = 0; i < 100000; i++) {
        exact += 16 - feed(recurrence, LETTERS, 1);
        recurring += next(recurrence, 20000 + i).recurs;
    }
    diag("%zu new ones recur, %zu of the step do not", recurring, exact);
    ok(recurring < 100 && exact == 0, "nor do they between the steps, a hundred thousand of them");
    cgx_recurrence_free(recurrence);
}

static void test_long_steps(void)
{
    struct cgx_recurrence *recurrence = create(2, 0);
    size_t recurring = 0;

    for (uint64_t i = 0; i < 5 * CGX_STEP_LONGEST; i++)
        recurring += next(recurrence, 20000 + i % CGX_STEP_LONGEST).recurs;
    ok(cgx_recurrence_period(recurrence) == CGX_STEP_LONGEST && recurring > 2 * CGX_STEP_LONGEST,
       "a step of %d sums recurs the third time", CGX_STEP_LONGEST);
    cgx_recurrence_free(recurrence);
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
        a = next(first, count);
        b = next(second, count);
        different += a.recurs != b.recurs || a.begins_step != b.begins_step ||
                     a.position != b.position ||
                     cgx_recurrence_generation(first) != cgx_recurrence_generation(second);
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
    test_varying();
    test_two_programs();
    test_new_counts();
    test_long_steps();
    test_determinism();
    ok(allocations - before == created - 1, "and asks for none later");
    return done_testing();
}
