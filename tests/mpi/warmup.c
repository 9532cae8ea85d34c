/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Only sums that recur are compressed, with CGX_BUFFERS=host and the default warm-up. Every part
 * has a communicator of its own. */

#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"
#include "lib/traffic.h"

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

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    test_three_alike();
    test_one_offs();
    test_steps();
    test_single();
    return check_end();
}
