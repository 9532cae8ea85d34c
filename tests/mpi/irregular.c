/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Histories by position in programs with irregular steps, with host buffers and
 * CGX_COMPRESSION_MINIMAL_SIZE=1024: "irregular [threads]". Every sum must be right, which shows a
 * history that is applied to the wrong call. Which positions are told, unit/policy shows. */

#include <pthread.h>
#include <string.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/comms.h"
#include "lib/steps.h"

/* A model of PARTS buffers, from OFFSET elements on; the scales differ, so that histories do. */
#define PARTS 6

/* Steps up to compressed ones with history, and some of them. */
#define SETTLED 20

static void begin(struct steps *steps, size_t offset)
{
    struct steps_part parts[PARTS];

    for (size_t i = 0; i < PARTS; i++)
        parts[i] =
            (struct steps_part){4096 + offset + 100 * i, DATA_GAUSSIAN, i % 2 ? 0.03 : 1, 0, false};
    steps_begin(steps, MPI_COMM_WORLD, parts, PARTS);
}

static void check_settled(const struct steps *steps, bool right, const char *name)
{
    check(right, "%s: right, and the same on all ranks", name);
    check(steps_exact(steps) == 0, "%s: compressed at the end", name);
}

/* The last steps of a program, COUNT of them; RIGHT: all before were. */
static void finish(struct steps *steps, int count, bool right, const char *name)
{
    right &= steps_take_all(steps, count);
    check_settled(steps, right, name);
    steps_end(steps);
}

/* ---- strays ---- */

/* A metric now and then, between two steps. */
static void test_metric(void)
{
    static const int gaps[] = {4, 7, 5, 4, 6};
    struct steps steps;
    bool right, exact = true, kept = true;

    begin(&steps, 0);
    right = steps_take_all(&steps, SETTLED);
    for (size_t i = 0; i < 5; i++) {
        right &= steps_stray(&steps, 1025);
        exact = exact && steps.found[0].exact;
        for (int k = 0; k < gaps[i]; k++) {
            right &= steps_take(&steps);
            kept = kept && steps_exact(&steps) == 0;
        }
    }
    check(exact, "metric: it is exact itself");
    check(right, "metric: right, and the same on all ranks");
    check(kept, "metric: the step stays compressed all the time");
    steps_end(&steps);
}

/* ---- changes ---- */

/* The step changes when it is compressed: a buffer more, one less, others, one of another size,
 * the same in another order. */
static void test_changes(void)
{
    static const char *const names[] = {"a buffer more", "one less", "another size",
                                        "another order", "back again"};
    struct steps steps;
    struct steps_part first[PARTS];
    bool right;

    begin(&steps, 0);
    memcpy(first, steps.parts, sizeof first);
    right = steps_take_all(&steps, SETTLED);
    for (int change = 0; change < 5; change++) {
        switch (change) {
        case 0:
            steps.parts[steps.nparts++] = (struct steps_part){4801, DATA_GAUSSIAN, 1, 0, false};
            break;
        case 1:
            steps.nparts -= 2;
            break;
        case 2:
            steps.parts[1].count = 8333;
            break;
        case 3:
            steps.parts[2] = first[1];
            steps.parts[3] = first[0];
            break;
        default:
            memcpy(steps.parts, first, sizeof first);
            steps.nparts = PARTS;
        }
        /* A step of few kinds of calls must go by sixteen times before it takes another's place. */
        right &= steps_take_all(&steps, 16 + SETTLED + 8);
        check_settled(&steps, right, names[change]);
    }
    steps_end(&steps);
}

/* Buffers of one size in a step, whose values differ: each position has a history of its own. A
 * hint names the step, which pauses on busy processors can split where counts do not tell. */
static void test_same_size(void)
{
    struct steps steps;

    begin(&steps, 0);
    for (size_t i = 0; i < PARTS; i++)
        steps.parts[i].count = 5000;
    steps.parts[PARTS - 1].count = 5001;
    comms_hint(steps.comm, "cgx_step", "6");
    finish(&steps, SETTLED + 3, true, "buffers of one size");
}

/* ---- several communicators ---- */

/* Two models take turns, not always one step each. */
static void test_two_models(void)
{
    struct steps one, two;
    bool right = true;

    begin(&one, 0);
    begin(&two, 5000);
    for (int i = 0; i < SETTLED + 3; i++) {
        right &= steps_take(&one);
        if (i % 3 != 1)
            right &= steps_take_all(&two, 2);
    }
    finish(&one, 0, right, "two models, the first");
    finish(&two, 0, right, "two models, the second");
}

/* Of a part of the ranks, and of all; freed while they are in use, and made again. */
static void test_subset(void)
{
    struct steps all, some;
    MPI_Comm half;
    bool right = true;

    MPI_Comm_split(MPI_COMM_WORLD, check_rank > 0, -check_rank, &half);
    for (int round = 0; round < 2; round++) {
        begin(&all, 0);
        steps_begin(&some, half, all.parts, PARTS);
        for (int i = 0; i < SETTLED + 1; i++) {
            right &= steps_take(&all);
            right &= steps_take(&some);
        }
        check_settled(&all, right, "sub-communicator, beside it");
        check(check_rank == 0 || check_size < 3 || steps_exact(&some) == 0,
              "sub-communicator: compressed");
        steps_end(&some);
        steps_end(&all);
    }
    MPI_Comm_free(&half);
}

struct worker {
    pthread_t thread;
    struct steps steps;
    bool right;
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    worker->right = steps_take_all(&worker->steps, SETTLED + 5);
    return NULL;
}

static void test_threads(int level)
{
    struct worker workers[2];

    if (level < MPI_THREAD_MULTIPLE) {
        if (check_rank == 0)
            skip("two threads", "the MPI has no MPI_THREAD_MULTIPLE");
        return;
    }
    for (size_t t = 0; t < 2; t++)
        begin(&workers[t].steps, 3000 * t);
    for (int t = 0; t < 2; t++)
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < 2; t++)
        finish(&workers[t].steps, 0, workers[t].right, t ? "thread 1" : "thread 0");
}

int main(int argc, char **argv)
{
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    int level;

    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    check_begin(&argc, &argv);
    if (threads) {
        test_threads(level);
        return check_end();
    }
    test_metric();
    test_changes();
    test_same_size();
    test_two_models();
    test_subset();
    return check_end();
}
