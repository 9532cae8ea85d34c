/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Counts the collective calls that the library makes of its own before a step of sums is steady:
 * "ballots SUMS STEPS [rising]". A step has SUMS sums of gradients, of one size or of RISING ones.
 * Prints the calls of each sum that has any and, at the end, "all N most N last N": the calls of
 * all sums, the most of one sum, and the number of the last sum that has any. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/check.h"

enum { LEAST = 20000, MOST = 400000 };

static int met;

/* The next function of that name. */
static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

int PMPI_Allreduce(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    int (*real)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

    *(void **)&real = next("PMPI_Allreduce");
    met += datatype != MPI_FLOAT;
    return real(from, to, n, datatype, op, comm);
}

int PMPI_Allgather(const void *from, int n, MPI_Datatype datatype, void *to, int each,
                   MPI_Datatype type, MPI_Comm comm)
{
    met++;
    return MPI_Allgather(from, n, datatype, to, each, type, comm);
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    met++;
    return MPI_Comm_split(comm, color, key, made);
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
    met++;
    return MPI_Comm_split_type(comm, type, key, info, made);
}

int PMPI_Sendrecv(const void *from, int n, MPI_Datatype datatype, int to, int tag, void *into,
                  int most, MPI_Datatype type, int source, int source_tag, MPI_Comm comm,
                  MPI_Status *status)
{
    met++;
    return MPI_Sendrecv(from, n, datatype, to, tag, into, most, type, source, source_tag, comm,
                        status);
}

static void fill(float *values, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        int sum = 0;

        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525 + 1013904223;
            sum += (int)(seed >> 16 & 0xff);
        }
        values[i] = (float)(sum - 510);
    }
}

static void work(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

int main(int argc, char **argv)
{
    int sums = argc > 2 ? atoi(argv[1]) : 1, steps = argc > 2 ? atoi(argv[2]) : 1;
    bool rising = argc > 3 && strcmp(argv[3], "rising") == 0;
    int all = 0, most = 0, last = 0, number = 0;
    static float values[MOST];

    check_begin(&argc, &argv);
    for (int step = 0; step < steps; step++) {
        work();
        for (int i = 0; i < sums; i++) {
            int count = rising ? LEAST + (MOST - LEAST) / sums * i : LEAST;
            int before = met;

            fill(values, count, (unsigned)((step * sums + i) * check_size + check_rank) * 7919);
            MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
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
    return check_end();
}
