/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/stall.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "mpi/config.h"
#include "mpi/errors.h"
#include "util/log.h"
#include "util/trace.h"

#define SECOND INT64_C(1000000000)
#define FIRST (30 * SECOND)
#define AGAIN (300 * SECOND)
/* Two looks at the clock are never further apart, unless the process was stopped in between. */
#define MOST_APART (5 * SECOND)
/* In a process so many waits get a first warning, as in a program whose ranks are slow in every
 * epoch. */
#define MOST_FIRST 4

/* ---- lines ---- */

static _Thread_local struct {
    uint64_t number, count;
    cgx_mpi_comm comm;
} sum;

struct place {
    char text[64 + CGX_MPI_OBJECT_NAME_BYTES];
};

/* Describes this thread's sum: "large sum 121 (100000 elements on MPI_COMM_WORLD)". */
static struct place place_of_sum(void)
{
    struct place place;
    char name[CGX_MPI_OBJECT_NAME_BYTES] = "", number[32] = "a sum";
    int length;

    cgx_mpi()->Comm_get_name(sum.comm, name, &length);
    if (sum.number > 0)
        snprintf(number, sizeof number, "large sum %llu", (unsigned long long)sum.number);
    snprintf(place.text, sizeof place.text, "%s (%llu elements%s%s)", number,
             (unsigned long long)sum.count, name[0] ? " on " : "", name);
    return place;
}

static void warn_of_stall(const struct cgx_stall *stall, const char *ranks,
                          const struct place *place)
{
    cgx_log(CGX_LOG_WARN,
            "waited %lld s for %s in %s: a slow rank is no fault, but ranks that sum different "
            "things at one time wait for ever; CGX_ENABLE=0 shows MPI's own error",
            (long long)(stall->waited / SECOND), ranks, place->text);
}

bool cgx_stall_due(struct cgx_stall *stall)
{
    static atomic_uint firsts;
    int64_t now = cgx_trace_clock(), before = stall->waited;
    int64_t apart = stall->looked != 0 ? now - stall->looked : 0;

    stall->looked = now;
    if (apart > 0)
        stall->waited += apart < MOST_APART ? apart : MOST_APART;
    if (before < FIRST && stall->waited >= FIRST)
        return atomic_fetch_add(&firsts, 1) < MOST_FIRST;
    return before < AGAIN && stall->waited >= AGAIN;
}

void cgx_stall_warn(const struct cgx_stall *stall, const char *ranks)
{
    const struct place place = place_of_sum();

    warn_of_stall(stall, ranks, &place);
}

/* ---- waits in MPI ---- */

enum { WAITS = 16 }; /* the most waits that are watched at once */

/* The lock protects the waits of all threads, and whether a thread watches them. They outlive their
 * threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wait {
    bool goes_on;
    struct cgx_stall stall;
    struct place place;
} waits[WAITS];
static bool watched;
static _Thread_local struct wait *mine;

/* Copies a wait for which a warning is due. *ANY: some wait goes on. */
static bool find_due(struct wait *due, bool *any)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    *any = false;
    for (size_t i = 0; i < WAITS && !found; i++) {
        *any = *any || waits[i].goes_on;
        found = waits[i].goes_on && cgx_stall_due(&waits[i].stall);
        if (found)
            *due = waits[i];
    }
    watched = *any;
    pthread_mutex_unlock(&lock);
    return found;
}

/* The thread ends when nobody has waited during a nap: in steady state the library has no thread.
 */
static void *watch_stalls(void *unused)
{
    static const struct timespec nap = {.tv_sec = 1};
    struct wait due;
    bool any = true;

    (void)unused;
    while (any) {
        nanosleep(&nap, NULL);
        while (find_due(&due, &any))
            warn_of_stall(&due.stall, "other ranks",
                          &due.place); /* without the lock, since stderr may block */
    }
    return NULL;
}

/* Starts the thread. Nobody joins it, and it takes none of the program's signals. False: there can
 * be no thread. */
static bool start_watch(void)
{
    pthread_t thread;
    sigset_t all, before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&thread, NULL, watch_stalls, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* Before a blocking call on COMM. */
static int enter_blocking(cgx_mpi_comm comm, cgx_mpi_errhandler *handler)
{
    int code = cgx_errors_return(comm, handler);
    struct place place;

    if (code != CGX_MPI_SUCCESS || !cgx_config()->enable || cgx_log_level() < CGX_LOG_WARN)
        return code;
    place = place_of_sum();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < WAITS && !mine; i++)
        if (!waits[i].goes_on)
            mine = &waits[i];
    if (mine) {
        *mine = (struct wait){.goes_on = true, .place = place};
        watched = watched || start_watch();
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static void end_wait(void)
{
    if (!mine)
        return;
    pthread_mutex_lock(&lock);
    mine->goes_on = false;
    pthread_mutex_unlock(&lock);
    mine = NULL;
}

/* After a blocking call on COMM that returned CODE, which it returns. */
static int leave_blocking(cgx_mpi_comm comm, cgx_mpi_errhandler handler, int code)
{
    end_wait();
    cgx_errors_restore(comm, handler);
    return code;
}

void cgx_stall_sum(uint64_t number, uint64_t count, cgx_mpi_comm comm)
{
    /* A wait may have gone on if a handler of the program has jumped out of MPI. */
    end_wait();
    sum.number = number;
    sum.count = count;
    sum.comm = comm;
}

int cgx_mpi_reduce(cgx_mpi_comm comm, void *words, int count, cgx_mpi_op op)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    cgx_mpi_errhandler handler;
    int code = enter_blocking(comm, &handler);

    if (code == CGX_MPI_SUCCESS)
        code = leave_blocking(comm, handler,
                              mpi->Allreduce(mpi->IN_PLACE, words, count, mpi->UINT32_T, op, comm));
    return code;
}

int cgx_mpi_gather(cgx_mpi_comm comm, const void *from, void *all, int bytes)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    cgx_mpi_errhandler handler;
    int code = enter_blocking(comm, &handler);

    if (code == CGX_MPI_SUCCESS)
        code = leave_blocking(comm, handler,
                              mpi->Allgather(from, bytes, mpi->BYTE, all, bytes, mpi->BYTE, comm));
    return code;
}

int cgx_mpi_split(cgx_mpi_comm comm, int rank, cgx_mpi_comm *made)
{
    cgx_mpi_errhandler handler;
    int code = enter_blocking(comm, &handler);

    if (code == CGX_MPI_SUCCESS)
        code = leave_blocking(comm, handler, cgx_mpi()->Comm_split(comm, 0, rank, made));
    return code;
}
