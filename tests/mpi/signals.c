/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that is interrupted while it sums: by a timer every 0.2 ms, and by children that end,
 * some of which exit and some of which run another program. Its handlers do not restart system
 * calls (no SA_RESTART). At the end a thread other than the first calls MPI_Finalize. */

#define _GNU_SOURCE

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"

enum { CALLS = 40, COUNT = 100003 };

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

static bool sums_right(bool forks, bool *children)
{
    bool good = true;

    for (int call = 0; call < CALLS; call++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)call, COUNT,
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

int main(int argc, char **argv)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    bool children = true, good;
    pthread_t thread;
    int level, code = -1;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    check_begin(&argc, &argv);
    handle(SIGALRM);
    handle(SIGCHLD);
    setitimer(ITIMER_REAL, &often, NULL);
    good = sums_right(false, &children);
    setitimer(ITIMER_REAL, &never, NULL);
    check(good, "a timer: sums are compressed and right, the same on all ranks");
    check(alarms > 0, "a timer: it interrupted them");
    good = sums_right(true, &children);
    check(good, "children: sums are compressed and right, the same on all ranks");
    check(children && ended > 0, "children: all end well");
    pthread_create(&thread, NULL, finalize, &code);
    pthread_join(thread, NULL);
    if (check_rank == 0) {
        ok(code == MPI_SUCCESS, "MPI_Finalize from a second thread succeeds");
        return done_testing();
    }
    return code != MPI_SUCCESS;
}
