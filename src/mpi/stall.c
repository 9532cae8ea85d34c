/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/stall.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "mpi/config.h"
#include "util/log.h"
#include "util/thread.h"
#include "util/trace.h"

#define SECOND INT64_C(1000000000)
#define FIRST (30 * SECOND)
#define AGAIN (300 * SECOND)
/* Two looks at the clock are never further apart, unless the process was stopped in between. */
#define MOST_APART (5 * SECOND)
/* A program whose ranks are slow in every epoch gets so many first warnings of a process. */
#define MOST_FIRST 4

/* ---- lines ---- */

static _Thread_local struct {
    uint64_t number, count;
    cgx_mpi_comm comm;
} sum;

void cgx_stall_sum(uint64_t number, uint64_t count, cgx_mpi_comm comm)
{
    sum.number = number;
    sum.count = count;
    sum.comm = comm;
}

struct place {
    char text[64 + CGX_MPI_OBJECT_NAME_BYTES];
};

/* Describes this thread's sum: "large sum 121 (100000 elements on MPI_COMM_WORLD)". */
static struct place place_of_sum(void)
{
    struct place place = {"MPI_Finalize"};
    char name[CGX_MPI_OBJECT_NAME_BYTES] = "", number[32] = "a sum";
    int length;

    if (sum.count == 0)
        return place;
    if (cgx_mpi()->Comm_get_name(sum.comm, name, &length) != CGX_MPI_SUCCESS)
        name[0] = '\0';
    if (sum.number > 0)
        snprintf(number, sizeof number, "large sum %llu", (unsigned long long)sum.number);
    snprintf(place.text, sizeof place.text, "%s (%llu elements%s%s)", number,
             (unsigned long long)sum.count, name[0] ? " on " : "", name);
    return place;
}

static void warn(const struct cgx_stall *stall, const char *ranks, const struct place *place)
{
    cgx_log(CGX_LOG_WARN,
            "waited %lld s for %s in %s: a rank that computes for long is no fault, but ranks that "
            "sum different things at one time wait for ever; CGX_ENABLE=0 shows MPI's own error",
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

    warn(stall, ranks, &place);
}

/* ---- waits in MPI ---- */

struct wait {
    struct wait *next;
    struct cgx_stall stall;
    struct place place;
};

/* The lock protects the waits of all threads, and whether a thread watches them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wait *waits;
static bool watched;
static _Thread_local struct wait mine;

/* Ends when nobody waits after a nap: in steady state the library has no thread. */
static void *watch(void *unused)
{
    static const struct timespec nap = {.tv_sec = 1};
    bool ends = false;

    (void)unused;
    while (!ends) {
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&lock);
        for (struct wait *wait = waits; wait; wait = wait->next)
            if (cgx_stall_due(&wait->stall))
                warn(&wait->stall, "other ranks", &wait->place);
        ends = !waits;
        watched = !ends;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Takes this thread's wait, if there is one, from the list. */
static void unlink_mine(void)
{
    struct wait **link = &waits;

    while (*link && *link != &mine)
        link = &(*link)->next;
    if (*link)
        *link = mine.next;
}

void cgx_stall_enter(void)
{
    const struct place place = place_of_sum();

    if (!cgx_config()->enable || cgx_log_level() < CGX_LOG_WARN)
        return;
    pthread_mutex_lock(&lock);
    /* MPI's error handler may have left the wait before, or make a sum within it. */
    unlink_mine();
    mine = (struct wait){.next = waits, .place = place};
    waits = &mine;
    watched = watched || cgx_thread_start(watch, NULL);
    pthread_mutex_unlock(&lock);
}

void cgx_stall_leave(void)
{
    pthread_mutex_lock(&lock);
    unlink_mine();
    pthread_mutex_unlock(&lock);
}

int cgx_mpi_reduce(cgx_mpi_comm comm, void *data, int count, cgx_mpi_datatype type, cgx_mpi_op op)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int code;

    cgx_stall_enter();
    code = mpi->Allreduce(mpi->IN_PLACE, data, count, type, op, comm);
    cgx_stall_leave();
    return code;
}

int cgx_mpi_least(cgx_mpi_comm comm, void *integers, int count)
{
    return cgx_mpi_reduce(comm, integers, count, cgx_mpi()->INT, cgx_mpi()->MIN);
}

int cgx_mpi_union(cgx_mpi_comm comm, void *words, int count)
{
    return cgx_mpi_reduce(comm, words, count, cgx_mpi()->INT, cgx_mpi()->BOR);
}
