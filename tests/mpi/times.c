/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* usage: times SUMS [faults]. Sums on ranks whose clocks jump, each in its own way, so that what
 * sums seem to take is drawn, and with it which of them are compressed: all ranks must find the
 * same, and all results must be right, or errors where "faults" spoil messages. Sizes are a few
 * that recur and others that come once. "times pauses" has clocks that show the pauses of a program
 * and nothing else. */
#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi/lib/check.h"
#include "mpi/lib/sums.h"

#define SECOND INT64_C(1000000000)

enum { SIZES = 5, LEAST = 16384, MOST = 60000 };

static uint64_t jumps;      /* the state of this rank's clock; 0: it is right, or ... */
static int64_t shown;       /* ... shows this */
static uint64_t ours = 71;  /* what is drawn alike on all ranks, ... */
static uint64_t others = 0; /* ... and elements of this one */

/* SplitMix64 (Steele, Lea and Flood 2014): streams of ranks must have nothing in common. */
static uint32_t drawn(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

/* In the place of the C library's, for the library and the MPI too. It gains up to 20 ms whenever
 * it is read, one time in 256 a minute, and one time in 64 it loses a second. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int64_t gained;
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    int64_t now = (int64_t)time->tv_sec * SECOND + time->tv_nsec;

    if (shown > 0 && clock == CLOCK_MONOTONIC) {
        *time = (struct timespec){shown / SECOND, shown % SECOND};
        return 0;
    }
    if (jumps == 0 || status != 0 || clock != CLOCK_MONOTONIC)
        return status;
    gained += drawn(&jumps) % (SECOND / 50);
    gained += drawn(&jumps) % 256 == 0 ? 60 * SECOND : drawn(&jumps) % 64 == 0 ? -SECOND : 0;
    time->tv_sec = (now + gained) / SECOND;
    time->tv_nsec = (now + gained) % SECOND;
    return status;
}

static float element(uint64_t *state)
{
    return (float)(drawn(state) % 2001) - 1000 + (float)(drawn(state) % 2001) - 1000;
}

/* The size of the sum number I. */
static int size_of(unsigned i)
{
    static const int sizes[SIZES] = {16384, 17000, 20000, 32768, 50000};
    const bool once = drawn(&ours) % 16 == 0;

    return once ? LEAST + (int)(drawn(&ours) % (MOST - LEAST)) : sizes[i % SIZES];
}

enum way { EXACT, COMPRESSED, ERROR };

/* Sums on COMM, for the number I, COUNT elements; *WAY: how. False if the result is wrong here. */
static bool is_right(unsigned i, int count, MPI_Comm comm, enum way *way)
{
    static float in[MOST], out[MOST], exact[MOST];
    double error = 0, squares = 0;

    for (int k = 0; k < count; k++)
        in[k] = element(&others);
    PMPI_Allreduce(in, exact, count, MPI_FLOAT, MPI_SUM, comm);
    *way = ERROR;
    if (MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS)
        return true;
    for (int k = 0; k < count; k++) {
        error += ((double)out[k] - (double)exact[k]) * ((double)out[k] - (double)exact[k]);
        squares += (double)exact[k] * (double)exact[k];
    }
    *way = error > 0 ? COMPRESSED : EXACT;
    if (error > 0.04 * squares)
        check_note("sum %u of %d elements: an error of %g", i, count, error / squares);
    return error <= 0.04 * squares;
}

/* Another hash of the plan. */
static void change_plan(unsigned char *message, size_t bytes)
{
    (void)bytes;
    message[4] ^= 0x55;
}

/* At times one rank spoils a part of the result that it sends to another, which loses the sum. */
static void draw_fault(void)
{
    const bool comes = drawn(&ours) % 4 == 0;
    const int rank = (int)(drawn(&ours) % (unsigned)check_size);
    const int nth = check_size + (int)(drawn(&ours) % (unsigned)(check_size - 1));

    call_faults_spoil(comes && rank == check_rank ? nth : 0, change_plan);
}

/* The way in which sums were formed on all ranks but those that had an error; ERROR: if all had
 * one. *ALIKE: there is but one. */
static enum way way_of_all(enum way mine, bool *alike)
{
    int least = mine, most = mine == ERROR ? EXACT : mine;

    PMPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    PMPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    *alike = least >= most;
    return (enum way)least;
}

/* Whether sums are compressed after six steps of four, a small one before each, so that only pauses
 * tell the steps. Ranks pause before the first sum of a step, but rank 1 before the sum OTHER. */
static bool finds_steps(unsigned other)
{
    const unsigned first = check_rank == 1 ? other : 0;
    enum way way = EXACT;
    bool right = true;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (unsigned i = 0; i < 24; i++) {
        shown += i % 4 == first ? SECOND / 10 : SECOND / 100000;
        MPI_Allreduce(MPI_IN_PLACE, (float[2000]){0}, 2000, MPI_FLOAT, MPI_SUM, comm);
        shown += SECOND / 100000;
        right = is_right(i, 20000 + 100 * (int)(i % 4), comm, &way) && right;
    }
    MPI_Comm_free(&comm);
    return way == COMPRESSED && right;
}

static void test_pauses(void)
{
    shown = SECOND;
    check(finds_steps(0), "pauses before the same sums show steps");
    check(!finds_steps(2), "pauses before different sums, as many on each rank, show none");
}

int main(int argc, char **argv)
{
    const unsigned sums = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    unsigned ways[ERROR + 1] = {0}, lost = 0, changes = 0;
    const bool faulty = argc > 2;
    bool right = true, alike = true;
    enum way mine = EXACT, all = EXACT, was = EXACT;

    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    others = (uint64_t)(check_rank + 1) << 32;
    if (sums == 0) {
        test_pauses();
        return check_end();
    }
    jumps = (uint64_t)(check_rank + 9) << 32;
    for (unsigned i = 0; i < sums && right && alike; i++) {
        if (faulty)
            draw_fault();
        right = check_everywhere(is_right(i, size_of(i), MPI_COMM_WORLD, &mine), MPI_COMM_WORLD);
        all = way_of_all(mine, &alike);
        lost += mine == ERROR && all != ERROR;
        ways[all]++;
        changes += all != was;
        was = all;
    }
    jumps = 0;
    check(right, "%u sums are right", sums);
    check(alike, "and compressed on all ranks or on none");
    PMPI_Allreduce(MPI_IN_PLACE, &lost, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    check_note("compressed=%u changes=%u lost=%u errors=%u", ways[COMPRESSED], changes, lost,
               ways[ERROR]);
    return check_end();
}
