/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums in a process with an unusual environment: "surroundings date NOTES": the time of day goes
 * backwards. "surroundings clocks NOTES": all clocks do. "surroundings started NOTES": stdin,
 * stdout and stderr are closed at the start, and files that the program opens get their numbers.
 * "surroundings closes NOTES": the program closes them itself. Any other word: nothing unusual.
 * Each rank writes what it finds to the file NOTES.rank: "right" or "wrong" for the sums,
 * "untouched" if nothing was written to its own files, and "end". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

enum { COUNT = 100003, CALLS = 6 };

static int date_is_odd, clocks_are_odd;

/* In the place of the C library's, for the library and the MPI too. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = (int)syscall(SYS_clock_gettime, clock, time);

    if (status == 0 && (clocks_are_odd || (date_is_odd && clock == CLOCK_REALTIME))) {
        time->tv_sec = 4000000000 - time->tv_sec;
        time->tv_nsec = 999999999 - time->tv_nsec;
    }
    return status;
}

/* Gets the numbers 0 to 2 again, if they were closed. */
static int open_own(const char *notes)
{
    char path[4096];

    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s.own%d.%d", notes, i, (int)getpid());
        if (open(path, O_RDWR | O_CREAT | O_EXCL, 0600) != i)
            return 0;
    }
    return 1;
}

static int are_untouched(void)
{
    struct stat status;

    for (int i = 0; i < 3; i++)
        if (fstat(i, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != 0)
            return 0;
    return 1;
}

/* Ones are exact whatever the width; a communicator of its own has memory of its own. */
static int is_right(void)
{
    static float values[COUNT];
    MPI_Comm comm;
    int size, right = 1;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &size);
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = 1;
        MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, comm);
        for (int i = 0; i < COUNT; i++)
            right = right && values[i] == (float)size;
    }
    MPI_Comm_free(&comm);
    return right;
}

int main(int argc, char **argv)
{
    int started = strcmp(argv[1], "started") == 0, closes = strcmp(argv[1], "closes") == 0;
    int own = started ? open_own(argv[2]) : 0, right, rank;
    char name[4096];
    FILE *notes;

    date_is_odd = strcmp(argv[1], "date") == 0;
    clocks_are_odd = strcmp(argv[1], "clocks") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s.%d", argv[2], rank);
    notes = fopen(name, "w");
    right = is_right();
    if (closes) {
        for (int i = 0; i < 3; i++)
            close(i);
        own = open_own(argv[2]);
    }
    right = is_right() && right;
    MPI_Finalize();
    fputs(right ? "right\n" : "wrong\n", notes);
    if (own && are_untouched())
        fputs("untouched\n", notes);
    fputs("end\n", notes);
    fclose(notes);
    return 0;
}
