/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Counts the collective calls that the library makes of its own before a step of sums is steady:
 * "ballots SUMS STEPS [rising [DEATH]]". A step has SUMS sums of gradients, of one size or of
 * RISING ones. The last rank dies in its call number DEATH of them. Prints the calls of each sum
 * that has any and, at the end, "all N most N last N": the calls of all sums, the most of one sum,
 * and the number of the last sum that has any. Without arguments rank 0 is at another ballot than
 * the others. Linked with the library's objects. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "comm/ballot.h"
#include "lib/check.h"
#include "lib/sums.h"
#include "mpi/stall.h"

enum { LEAST = 20000, MOST = 400000 };

static int met, death;

static void meet(void)
{
    if (++met == death && check_rank == check_size - 1)
        raise(SIGKILL);
}

static bool meet_in_sum(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, int *code)
{
    (void)from, (void)to, (void)n, (void)op, (void)comm, (void)code;
    if (datatype != MPI_FLOAT)
        meet();
    return false;
}

int PMPI_Allgather(const void *from, int n, MPI_Datatype datatype, void *to, int each,
                   MPI_Datatype type, MPI_Comm comm)
{
    meet();
    return MPI_Allgather(from, n, datatype, to, each, type, comm);
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    meet();
    return MPI_Comm_split(comm, color, key, made);
}

static void fill(float *values, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        int sum = 0;

        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525 + 1013904223;
            sum += (int)(seed >> 16 & 0xff);
        }
        values[i] = (float)(sum - 510) / 256;
    }
}

static void work(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* ---- counting ---- */

/* Whether SUMS are near the exact sums of the ranks' elements by SEED and rank. */
static bool is_right(const float *sums, int count, int seed)
{
    static float exact[MOST], values[MOST];
    double error = 0, square = 0;

    memset(exact, 0, sizeof exact);
    for (int rank = 0; rank < check_size; rank++) {
        fill(values, count, (unsigned)(seed * check_size + rank) * 7919);
        for (int i = 0; i < count; i++)
            exact[i] += values[i];
    }
    for (int i = 0; i < count; i++) {
        error += ((double)sums[i] - exact[i]) * ((double)sums[i] - exact[i]);
        square += (double)exact[i] * exact[i];
    }
    return error < 0.05 * square;
}

static void count(int sums, int steps, bool rising)
{
    int all = 0, most = 0, last = 0, number = 0;
    static float values[MOST];

    for (int step = 0; step < steps; step++) {
        work();
        for (int i = 0; i < sums; i++) {
            int count = rising ? LEAST + (MOST - LEAST) / sums * i : LEAST;
            int before = met;

            fill(values, count, (unsigned)((step * sums + i) * check_size + check_rank) * 7919);
            MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            if (death > 0 && !is_right(values, count, step * sums + i))
                fputs("# wrong\n", stderr);
            number++;
            if (met == before)
                continue;
            all += met - before;
            most = met - before > most ? met - before : most;
            last = number;
            if (check_rank == 0)
                printf("# sum %d: %d\n", number, met - before);
        }
    }
    if (check_rank == 0)
        printf("# all %d most %d last %d\n", all, most, last);
    check(all > 0, "ranks meet");
}

/* ---- different ballots ---- */

enum { WORDS = 100 };

struct held {
    const char *name;
    enum cgx_ballot_kind kind;
    uint32_t before; /* ballots */
    struct cgx_callsite_key about;
    size_t words;
};

static const struct held usual = {"", CGX_BALLOT_STEP, 7, {.count = 20000, .position = 1}, WORDS};

/* What rank 0 does, or one of many. */
static const struct held others[] = {
    {"another kind", CGX_BALLOT_OFFER, 7, {.count = 20000, .position = 1}, WORDS},
    {"the next ballot", CGX_BALLOT_STEP, 8, {.count = 20000, .position = 1}, WORDS},
    {"a sum of another size", CGX_BALLOT_STEP, 7, {.count = 30000, .position = 1}, WORDS},
    {"another position", CGX_BALLOT_STEP, 7, {.count = 20000, .position = 2}, WORDS},
    {"fewer words", CGX_BALLOT_STEP, 7, {.count = 20000, .position = 1}, 1},
};

static struct cgx_comm state;
static int raised, broken_before;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    raised++;
    broken_before = state.broken; /* it may free the communicator, and STATE with it */
}

/* Holds a ballot in which rank ODD is at ODD_ONE. *RIGHT: the words are the least of all ranks'. */
static int hold(const struct held *odd_one, int odd, int *broken, bool *right)
{
    const struct held *held = check_rank == odd ? odd_one : &usual;
    MPI_Comm comm = comms_new();
    uint32_t words[WORDS];
    MPI_Errhandler handler;
    int code;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint32_t)(i % check_size == check_rank ? i : 1000);
    raised = 0;
    state =
        (struct cgx_comm){.comm = (cgx_mpi_comm)(uintptr_t)comm, .shared.ballots = held->before};
    cgx_stall_sum(1, held->about.count, state.comm);
    code = cgx_ballot(&state, held->kind, &held->about, words, held->words);
    *right = true;
    for (int i = 0; i < WORDS; i++)
        *right = *right && words[i] == (uint32_t)i;
    *broken = state.broken;
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return code;
}

static void hold_all(void)
{
    bool right;
    float one = 1;
    int broken;

    /* In its first call the library finds the MPI. */
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(check_everywhere(hold(&usual, 0, &broken, &right) == MPI_SUCCESS && right && !raised &&
                               broken == MPI_SUCCESS,
                           MPI_COMM_WORLD),
          "at one ballot: all ranks have the least of each word");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (int odd = 0; odd < check_size; odd += check_size - 1) {
            int code = hold(&others[i], odd, &broken, &right);

            check(check_everywhere(code != MPI_SUCCESS && broken == code && raised == 1 &&
                                       broken_before == code,
                                   MPI_COMM_WORLD),
                  "rank %d is at %s: an error on all ranks", odd, others[i].name);
        }
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    death = argc > 4 ? atoi(argv[4]) : 0;
    traffic_allreduce = meet_in_sum;
    if (argc > 2)
        count(atoi(argv[1]), atoi(argv[2]), argc > 3 && strcmp(argv[3], "rising") == 0);
    else
        hold_all();
    return check_end();
}
