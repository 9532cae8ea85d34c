/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Preloaded by run-mpi: lets MPICH over UCX give way when there are more ranks than processors. Its
 * waits never yield (MPIR_CVAR_POLLS_BEFORE_YIELD has no effect there), so each wait for a rank
 * that is not running lasts until the kernel takes the processor away: an all-reduce of 1024
 * elements on 8 ranks and 2 processors takes 47 ms, and 0.1 ms with this. A rank that has yielded
 * in vain for a while sleeps: beside another program that computes, each yield costs it a time
 * slice (3 ranks with many small sums on 2 processors: 43 to 60 s, 11 s when they sleep, 11 s
 * alone). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

#define POLLS_BEFORE_SLEEP 64

typedef unsigned progress_function(void *worker);

progress_function ucp_worker_progress;

static progress_function *find_progress(void)
{
    void *function = dlsym(RTLD_NEXT, "ucp_worker_progress");

    /* Python opens its MPI out of reach of RTLD_NEXT. */
    if (!function)
        function = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
    return (progress_function *)function;
}

unsigned ucp_worker_progress(void *worker)
{
    static const struct timespec nap = {.tv_nsec = 1000};
    static _Thread_local unsigned idle;
    static progress_function *progress;
    unsigned events;

    if (!progress)
        progress = find_progress();
    events = progress(worker);
    idle = events ? 0 : idle + 1;
    if (idle > POLLS_BEFORE_SLEEP)
        nanosleep(&nap, NULL);
    else if (idle > 0)
        sched_yield();
    return events;
}
