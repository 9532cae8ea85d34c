/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* When a rank that waits says so. The clock is wrapped. */

#include "mpi/stall.h"

#include <time.h>

#include "lib/tap.h"
#include "lib/wrap.h"

static long now = 1000; /* seconds */

WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = now};
    return 0;
}

/* Looks at the clock every second; the second in which a warning is due, up to MOST, or -1. */
static int next_due(struct cgx_stall *stall, int most)
{
    for (int i = 1; i <= most; i++) {
        now++;
        if (cgx_stall_due(stall))
            return i;
    }
    return -1;
}

int main(void)
{
    struct cgx_stall stall = {0};
    bool due;

    cgx_stall_due(&stall);
    ok(next_due(&stall, 400) == 30, "a warning is due after 30 s");
    ok(next_due(&stall, 400) == 270, "and after 5 minutes");
    ok(next_due(&stall, 5000) == -1, "and none later");

    stall = (struct cgx_stall){0};
    cgx_stall_due(&stall);
    now += 3600;
    due = cgx_stall_due(&stall);
    now -= 7200;
    due = due || cgx_stall_due(&stall);
    ok(!due, "none is due where the process was stopped for an hour, or the clock goes back");
    ok(next_due(&stall, 400) == 25, "one is due 25 s later");

    for (int i = 0; i < 2; i++) {
        stall = (struct cgx_stall){0};
        cgx_stall_due(&stall);
        next_due(&stall, 31);
    }
    stall = (struct cgx_stall){0};
    cgx_stall_due(&stall);
    ok(next_due(&stall, 400) == 300, "the fifth wait of a process warns after 5 minutes alone");
    return done_testing();
}
