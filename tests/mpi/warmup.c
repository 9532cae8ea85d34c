/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is exact before sums are compressed:
 *   warmup [recur]   only sums that recur are compressed, with CGX_BUFFERS=host and the default
 *                    warm-up
 *   warmup first     the first sums of a communicator are exact and cost nothing more: each is one
 *                    PMPI_Allreduce, and no communicator is made; for settings that compress every
 *                    other sum */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/collectives.h"
#include "lib/comms.h"
#include "lib/scenes.h"
#include "lib/sum.h"
#include "lib/traffic.h"

/* ---- recur ---- */

/* The first STEPS that a program makes: how many of their calls were exact, and whether all of them
 * were right. A call is exact if it gives the bits of PMPI_Allreduce. */
struct course {
    int calls;
    int exact;
    int first_compressed; /* -1: none */
    bool right;
    bool consistent; /* exactly the calls that sent something differ from PMPI_Allreduce */
};

static void call(MPI_Comm comm, size_t count, struct course *course)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)course->calls, count, SUM_IN_PLACE};
    struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);
    float *result = check_memory(count * sizeof(float));
    float *exact = check_memory(count * sizeof(float));
    uint64_t before = traffic_messages();
    bool silent, equal;

    course->right = sum_reduce(&sum, comm, result) && course->right;
    silent = traffic_messages() == before;
    sum_exact(&sum, comm, exact);
    equal = memcmp(result, exact, count * sizeof(float)) == 0;
    course->consistent = course->consistent && equal == silent;
    course->exact += equal;
    if (!equal && course->first_compressed < 0)
        course->first_compressed = course->calls;
    course->right = bound_holds(&scheme, sum.kind, sum.seed, count, result, comm) && course->right;
    course->calls++;
    free(result);
    free(exact);
}

static struct course new_course(MPI_Comm *comm)
{
    struct course course = {0, 0, -1, true, true};

    MPI_Comm_dup(MPI_COMM_WORLD, comm);
    return course;
}

/* Pauses between them, in which they are checked, may make each a step: so only the first sums of a
 * communicator are sure to be exact. */
static void test_three_alike(void)
{
    MPI_Comm comm;
    struct course course = new_course(&comm);

    for (int i = 0; i < 3; i++)
        call(comm, 50000, &course);
    check(course.right && course.exact == 3, "three alike in a row are exact");
    MPI_Comm_free(&comm);
}

static void test_one_offs(void)
{
    MPI_Comm comm;
    struct course course = new_course(&comm);

    for (int i = 0; i < 60; i++)
        call(comm, 16384 + (size_t)i * 17, &course);
    check(course.right && course.exact == 60, "calls that never recur are exact");
    MPI_Comm_free(&comm);
}

/* A program's steps, with a scalar of another type between them. */
static void test_steps(void)
{
    static const size_t step[] = {20000, 65536, 16384, 20000, 33333, 40000, 17000, 30000};
    enum { CALLS = sizeof step / sizeof step[0] };
    MPI_Comm comm;
    struct course course = new_course(&comm);
    struct course late = {0, 0, -1, true, true};
    struct course stray = late;
    double scalar = 1;

    for (int i = 0; i < 10; i++) {
        for (size_t k = 0; k < CALLS; k++)
            call(comm, step[k], &course);
        MPI_Allreduce(MPI_IN_PLACE, &scalar, 1, MPI_DOUBLE, MPI_MAX, comm);
    }
    check(course.right, "steps: every sum is exact or within the bound");
    check(course.consistent, "steps: a call that sends nothing is exact, to the bit");
    check(course.first_compressed >= 2 * CALLS, "steps: the first two are exact");
    check_note("first compressed call: %d of the steps", course.first_compressed);
    for (int i = 0; i < 2 * CALLS; i++)
        call(comm, step[i % CALLS], &late);
    check(late.right && late.exact == 0, "steps: later all calls are compressed");

    call(comm, 77777, &stray);
    check(stray.exact == 1 && stray.consistent, "steps: a call that is not of the step is exact");
    MPI_Comm_free(&comm);
}

/* A constant step of one call. */
static void test_single(void)
{
    MPI_Comm comm;
    struct course course = new_course(&comm);

    for (int i = 0; i < 40; i++)
        call(comm, 30000, &course);
    check(course.right && course.consistent, "one call a step: right");
    check(course.first_compressed >= 3, "one call a step: the first three are exact");
    check(course.first_compressed > 0, "one call a step: compressed at last");
    MPI_Comm_free(&comm);
}

static void play_recur(void)
{
    test_three_alike();
    test_one_offs();
    test_steps();
    test_single();
}

/* ---- first ---- */

enum { FIRST = 3, MOST = 20000 };

static int splits;

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    splits++;
    return MPI_Comm_split(comm, color, key, made);
}

/* What the calls of a sum were, and what came of it. */
struct seen {
    bool right;     /* the bits of PMPI_Allreduce */
    uint64_t calls; /* of the collectives of collectives.h, and communicators made */
    uint64_t messages;
};

static struct seen add(MPI_Comm comm, size_t count, uint64_t seed)
{
    static float result[MOST], exact[MOST];
    const struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, count,
                            (enum sum_shape)(seed % SUM_MIXED)};
    uint64_t calls = collectives_entered() + (uint64_t)splits, messages = traffic_messages();
    bool good = sum_reduce(&sum, comm, result);
    struct seen seen = {.calls = collectives_entered() + (uint64_t)splits - calls,
                        .messages = traffic_messages() - messages};

    sum_exact(&sum, comm, exact);
    seen.right = good && memcmp(result, exact, count * sizeof result[0]) == 0;
    return seen;
}

/* Whether N sums of COMM are exact, and one call each. */
static bool cost_nothing(MPI_Comm comm, int n)
{
    bool good = true;

    for (int i = 0; i < n; i++) {
        struct seen seen = add(comm, i % 2 ? MOST : 1024 + (size_t)i, (uint64_t)i);

        good = good && seen.right && seen.calls == 1 && seen.messages == 0;
    }
    return good;
}

static void test_few(void)
{
    bool good = true;

    for (int i = 0; i < 50; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        good = cost_nothing(comm, 1 + i % FIRST) && good;
        MPI_Comm_free(&comm);
    }
    check(good, "communicators of few sums: all are exact, and one call each");
}

/* The sums of COMM that are no more its first. */
static void check_later(MPI_Comm comm, const char *name)
{
    struct seen next = add(comm, MOST, 100), last = add(comm, MOST, 101);

    check(next.calls > 1, "%s: in the next sum ranks call the roll", name);
    check(!next.right && next.messages > 0, "%s: it is compressed", name);
    check(!last.right && last.messages > 0 && last.calls == 0,
          "%s: later sums are compressed, and nothing is agreed", name);
}

static void test_later(void)
{
    MPI_Comm comm = comms_new();

    check(cost_nothing(comm, FIRST), "the first sums are exact, and one call each");
    check_later(comm, "then");
    MPI_Comm_free(&comm);
}

/* What is said of a communicator waits for the roll call too. */
static void test_hinted(void)
{
    MPI_Comm comm = comms_new();
    bool good;

    comms_hint(comm, "cgx_bits", "8");
    good = cost_nothing(comm, FIRST - 2);
    comms_hint(comm, "cgx_bits", "6");
    good = cost_nothing(comm, 2) && good;
    check(good, "with hints: the first sums are exact, and one call each");
    check_later(comm, "with hints");
    MPI_Comm_free(&comm);
}

/* Sums that no setting could make compressed are not counted. */
static void test_others(void)
{
    static double doubles[MOST];
    static float floats[MOST];
    MPI_Comm comm = comms_new();

    for (int i = 0; i < 2 * FIRST; i++) {
        MPI_Allreduce(MPI_IN_PLACE, doubles, MOST, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Allreduce(MPI_IN_PLACE, floats, 1023, MPI_FLOAT, MPI_SUM, comm);
        MPI_Allreduce(MPI_IN_PLACE, floats, MOST, MPI_FLOAT, MPI_MAX, comm);
    }
    check(cost_nothing(comm, FIRST), "after others: the first sums are exact, and one call each");
    check_later(comm, "after others");
    MPI_Comm_free(&comm);
}

static void play_first(void)
{
    test_few();
    test_later();
    test_hinted();
    test_others();
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"recur", play_recur, NULL, false},
        {"first", play_first, NULL, false},
    };

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
