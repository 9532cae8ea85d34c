/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compressed sums in programs that do other things meanwhile; warm-up is off:
 *   life threads    two threads, each with a communicator of its own, sum at the same time
 *   life progress   the program's own pending messages move on
 *   life traps      a program that traps floating-point exceptions (as with Fortran's -ffpe-trap)
 * sums zeros, huge and subnormal numbers, NaN and infinities: no sum traps or raises a flag
 *   life signals    a timer interrupts the program every 0.2 ms, and children that end, by exit or
 * by another program that they run; no handler restarts system calls (no SA_RESTART). At the end a
 * second thread calls MPI_Finalize */
#define _GNU_SOURCE

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"

/* ---- threads ---- */

#define CALLS 60

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    uint64_t seed;
    size_t count;
    bool good;
    bool within; /* judged when the threads have ended */
    float *results;
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    for (uint64_t i = 0; i < CALLS; i++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, worker->seed + i, worker->count,
                          (enum sum_shape)(i % SUM_SHAPES)};

        worker->good =
            sum_reduce(&sum, worker->comm, worker->results + i * worker->count) && worker->good;
    }
    return NULL;
}

static void judge(struct worker *worker)
{
    struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);

    for (uint64_t i = 0; i < CALLS; i++) {
        float *result = worker->results + i * worker->count;

        if (!check_same(result, worker->count * sizeof(float), worker->comm))
            worker->good = false;
        if (!bound_compressed(&scheme, DATA_GAUSSIAN, worker->seed + i, worker->count, result,
                              worker->comm))
            worker->within = false;
    }
}

static void play_threads(void)
{
    struct worker workers[2] = {{.seed = 1000, .count = 5003}, {.seed = 2000, .count = 20011}};

    for (int t = 0; t < 2; t++) {
        workers[t].good = workers[t].within = true;
        workers[t].results = check_memory(CALLS * workers[t].count * sizeof(float));
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < 2; t++)
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < 2; t++) {
        judge(&workers[t]);
        check(workers[t].good, "thread %d: the same bytes on all ranks", t);
        check(workers[t].within, "thread %d: compressed, and within the bound", t);
        MPI_Comm_free(&workers[t].comm);
        free(workers[t].results);
    }
}

/* ---- progress ---- */

#define LARGE (8 << 20) /* bytes: no MPI sends that before the receiver has answered */

static bool sum_is_right(uint64_t seed)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, 50021, SUM_SEPARATE};
    struct judged judged = bound_judge(&sum, MPI_COMM_WORLD);

    return judged.right && judged.compressed;
}

static void fill(char *buffer, int round)
{
    memset(buffer, 'a' + round, LARGE);
}

static bool filled(const char *buffer, int round)
{
    return buffer[0] == 'a' + round && memcmp(buffer, buffer + 1, LARGE - 1) == 0;
}

/* Every rank sends to the next and receives from the one before, all of it pending. */
static void test_pending(char *out, char *in)
{
    int next = (check_rank + 1) % check_size;
    int before = (check_rank + check_size - 1) % check_size;
    bool good = true;

    for (int round = 0; round < 3; round++) {
        MPI_Request receive, send;

        fill(out, round);
        MPI_Irecv(in, LARGE, MPI_CHAR, before, round, MPI_COMM_WORLD, &receive);
        MPI_Isend(out, LARGE, MPI_CHAR, next, round, MPI_COMM_WORLD, &send);
        good = sum_is_right((uint64_t)round) && good;
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        good = filled(in, round) && good;
    }
    check(good, "8 MiB pending on every rank across a compressed call");
}

/* Rank 0 comes to the sum only when rank 1, which is in it already, has taken its message. */
static void test_blocking(char *out, char *in)
{
    bool good = true;

    for (int round = 0; round < 3; round++) {
        MPI_Request request = MPI_REQUEST_NULL;

        fill(out, round);
        if (check_rank == 1)
            MPI_Irecv(in, LARGE, MPI_CHAR, 0, round, MPI_COMM_WORLD, &request);
        PMPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0)
            MPI_Send(out, LARGE, MPI_CHAR, 1, round, MPI_COMM_WORLD);
        good = sum_is_right((uint64_t)round) && good;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (check_rank == 1)
            good = filled(in, round) && good;
    }
    check(good, "a blocking 8 MiB send to a rank that waits in a compressed call");
}

/* A receive that takes anything takes nothing of the library's. */
static void test_wildcard(void)
{
    int next = (check_rank + 1) % check_size, sent = 4711, received = 0;
    MPI_Request request;
    MPI_Status status;
    bool good;

    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    good = sum_is_right(9);
    MPI_Send(&sent, 1, MPI_INT, next, 42, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check(good && received == sent && status.MPI_TAG == 42,
          "a pending receive from any source is the program's own");
}

static void play_progress(void)
{
    char *out = malloc(LARGE), *in = malloc(LARGE);

    test_pending(out, in);
    test_blocking(out, in);
    test_wildcard();
    free(out);
    free(in);
}

/* ---- traps ---- */

enum { COUNT = 70001, ROUNDS = 4 };
enum { ORDINARY, ZEROS, HUGE_ONES, HUGE_SUMS, SUBNORMAL, ONE_NAN, ONE_INFINITY, INFINITIES, KINDS };
static const char *const names[] = {
    "ordinary numbers",  "zeros", "1e30",        "sums that overflow",
    "subnormal numbers", "a NaN", "an infinity", "infinities of both signs"};

static void fill_kind(int kind, uint64_t call, float *values)
{
    const double scales[] = {1, 0, 1e30, 3e38, 1e-41, 1, 1, 1};

    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)(data_value(DATA_GAUSSIAN, ELEMENT_FLOAT32, call, check_rank, i) / 8 *
                            scales[kind]);
    if (kind == HUGE_SUMS)
        values[7] = 3e38f;
    if (kind == ONE_NAN && check_rank == 0)
        values[5] = NAN;
    if (kind == INFINITIES || (kind == ONE_INFINITY && check_rank == 0))
        values[5] = check_rank == 0 ? INFINITY : -INFINITY;
}

/* Sums with traps; whether it was compressed. *RAISED: the flags that it left. */
static bool sum(float *values, int *raised)
{
    uint64_t before = traffic_messages();

    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    *raised = fetestexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    return traffic_messages() > before;
}

static void play_traps(void)
{
    float *values;
    int flags;

    values = check_memory(COUNT * sizeof *values);
    for (int call = 0; call < 3; call++) {
        fill_kind(ORDINARY, (uint64_t)call, values);
        sum(values, &flags);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        bool compressed = true;
        int all = 0;

        for (int round = 0; round < ROUNDS; round++) {
            fill_kind(kind, 10 * (uint64_t)kind + (uint64_t)round, values);
            compressed = sum(values, &flags) && compressed;
            all |= flags;
        }
        check(compressed, "%s: compressed", names[kind]);
        check(all == 0, "%s: no trap, and no flag (%x)", names[kind], (unsigned)all);
    }
    free(values);
}

/* ---- signals ---- */

enum { INTERRUPTED = 40 };

static atomic_int alarms, ended;

static void on_signal(int number)
{
    if (number == SIGALRM)
        alarms++;
    else
        ended++;
}

static void handle(int number)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(number, &action, NULL);
}

/* A child that makes no call, or one that runs another program. */
static pid_t begin_child(bool runs)
{
    pid_t child = fork();

    if (child == 0 && runs)
        execl("/bin/true", "true", (char *)NULL);
    if (child == 0)
        exit(0);
    return child;
}

static bool ends_well(pid_t child)
{
    int status = 1;

    while (waitpid(child, &status, 0) < 0)
        continue;
    return status == 0;
}

static bool are_right(bool forks, bool *children)
{
    bool good = true;

    for (int call = 0; call < INTERRUPTED; call++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)call, 100003,
                          (enum sum_shape)(call % SUM_SHAPES)};
        pid_t child = forks && call % 8 == 0 ? begin_child(call % 16 == 0) : 0;
        struct judged judged = bound_judge(&sum, MPI_COMM_WORLD);

        good = judged.right && judged.same && judged.compressed && good;
        *children = (child == 0 || ends_well(child)) && *children;
    }
    return good;
}

static void *finalize(void *code)
{
    *(int *)code = MPI_Finalize();
    return NULL;
}

/* It does not return, since MPI has ended. */
static void play_signals(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    bool children = true, good;
    pthread_t thread;
    int code = -1;

    handle(SIGALRM);
    handle(SIGCHLD);
    setitimer(ITIMER_REAL, &often, NULL);
    good = are_right(false, &children);
    setitimer(ITIMER_REAL, &never, NULL);
    check(good, "a timer: sums are compressed and right, the same on all ranks");
    check(alarms > 0, "a timer: it interrupted them");
    good = are_right(true, &children);
    check(good, "children: sums are compressed and right, the same on all ranks");
    check(children && ended > 0, "children: all end well");
    pthread_create(&thread, NULL, finalize, &code);
    pthread_join(thread, NULL);
    if (check_rank > 0)
        exit(code != MPI_SUCCESS);
    ok(code == MPI_SUCCESS, "MPI_Finalize from a second thread succeeds");
    exit(done_testing());
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"threads", play_threads, NULL, true},
        {"progress", play_progress, NULL, false},
        {"traps", play_traps, NULL, false},
        {"signals", play_signals, NULL, true},
    };

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
