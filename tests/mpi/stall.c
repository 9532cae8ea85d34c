/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Two ranks, of which rank 1 does something else than rank 0, "stall WHAT GO": "type": sums
 * doubles instead of floats. "order": two sums change places. "sum" and "agreement": comes
 * to the 7th or 4th sum when there is a file GO. From there on rank 0's clock is
 * 100 times as fast; with "type" it leaves when there is the file, since the sums never end. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

enum { COUNT = 100000, SPEED = 100 };

static int rank;
static const char *leaves_at; /* NULL: rank 0 stays */
static time_t fast_since;     /* 0: the clock is right */

/* In the place of the C library's, for the library and the MPI too. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = (int)syscall(SYS_clock_gettime, clock, time);

    if (fast_since != 0 && status == 0 && clock == CLOCK_MONOTONIC) {
        long long passed = (time->tv_sec - fast_since) * 1000000000LL + time->tv_nsec;

        time->tv_sec = fast_since + (time_t)(passed / (1000000000 / SPEED));
        if (leaves_at && access(leaves_at, F_OK) == 0)
            _exit(1);
    }
    return status;
}

/* Rank 0's clock gets fast; rank 1 waits for GO, if there is one to wait for. */
static void part(const char *go)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (rank == 0)
        fast_since = now.tv_sec;
    while (rank == 1 && go && access(go, F_OK) != 0)
        usleep(10000);
}

int main(int argc, char **argv)
{
    static double in[COUNT], out[COUNT];
    const char *what = argv[argc - 2], *go = argv[argc - 1];
    int right = 1, parts = strcmp(what, "agreement") == 0 ? 3 : 6;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < COUNT; i++)
        ((float *)in)[i] = 1;
    for (int i = 0; i < 8; i++) {
        int count = COUNT;
        MPI_Datatype type = MPI_FLOAT;

        if (i == parts && strcmp(what, "type") == 0) {
            leaves_at = rank == 0 ? go : NULL;
            part(NULL);
            type = rank == 1 ? MPI_DOUBLE : MPI_FLOAT;
        } else if (strcmp(what, "order") == 0) {
            count = COUNT >> ((i + (i >= parts && rank == 1)) % 2);
        } else if (i == parts) {
            part(go);
        }
        MPI_Allreduce(in, out, count, type, MPI_SUM, MPI_COMM_WORLD);
        right = right && ((float *)out)[COUNT / 2] == 2;
    }
    MPI_Finalize();
    return right ? 0 : 2;
}
