/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A long run: "long_run CALLS COMMUNICATORS" makes CALLS sums on COMMUNICATORS communicators, which
 * are made, used and freed one after the other, and on MPI_COMM_WORLD. Prints private memory, open
 * files and mappings after a tenth of the run and at the end. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/sums.h"

/* What may come on top, in KiB: allocators do not return all, and statistics keep up to 64 changes
 * of each layer. In a million calls and ten thousand communicators a leak of two bytes a call, or
 * of 128 bytes a communicator, is more. */
#define TOLERATED 1024

#define MOST 5000 /* elements of a sum */
#define LOOK 97   /* one sum in so many is compared with the exact one */

/* A step of the program: sums that can be compressed, among those that cannot. */
static const struct {
    int count;
    MPI_Datatype type;
} step[] = {{MOST, MPI_FLOAT}, {100, MPI_FLOAT}, {3000, MPI_FLOAT},
            {10, MPI_INT},     {64, MPI_DOUBLE}, {2048, MPI_FLOAT}};
#define STEP (long)(sizeof step / sizeof step[0])

static double input[MOST], result[MOST], exact[MOST];
static bool right = true;

/* ---- what a process has ---- */

struct held {
    long memory; /* KiB, private */
    long files, maps;
};

static long count_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    long files = 0;

    while (directory && readdir(directory))
        files++;
    if (directory)
        closedir(directory);
    return files;
}

static long count_maps(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    long lines = 0;
    int c;

    while (file && (c = getc(file)) != EOF)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

static struct held look(void)
{
    return (struct held){check_private_memory(), count_files(), count_maps()};
}

/* The most that a rank has. */
static void show(const char *when, struct held held)
{
    long most[] = {held.memory, held.files, held.maps};

    PMPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    check_note("%s: %ld KiB of private memory, %ld files open, %ld mappings", when, most[0],
               most[1], most[2]);
}

/* ---- sums ---- */

/* Whether RESULT, of COUNT floats, is near the exact sum on COMM. */
static bool is_near(MPI_Comm comm, int count)
{
    const float *is = (const float *)result, *is_exactly = (const float *)exact;
    double error = 0, square = 0;

    PMPI_Allreduce(input, exact, count, MPI_FLOAT, MPI_SUM, comm);
    for (int i = 0; i < count; i++) {
        error += ((double)is[i] - is_exactly[i]) * ((double)is[i] - is_exactly[i]);
        square += (double)is_exactly[i] * is_exactly[i];
    }
    return error < 0.25 * square;
}

/* Goes on with COUNT sums on COMM from number *NEXT on. */
static void go_on(MPI_Comm comm, long count, long *next)
{
    for (long end = *next + count; *next < end; ++*next) {
        int elements = step[*next % STEP].count;
        MPI_Datatype type = step[*next % STEP].type;

        right = MPI_Allreduce(input, result, elements, type, MPI_SUM, comm) == MPI_SUCCESS && right;
        if (type == MPI_FLOAT && *next % LOOK == 0)
            right = check_same(result, sizeof(float) * (size_t)elements, comm) &&
                    is_near(comm, elements) && right;
    }
}

static MPI_Comm make(long round)
{
    MPI_Comm comm, other;

    switch (round % 4) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm);
        break;
    case 2:
        MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comm);
        break;
    default:
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_dup(other, &comm);
        MPI_Comm_free(&other);
        break;
    }
    return comm;
}

/* One communicator, and CALLS sums on it and on MPI_COMM_WORLD, whose number *WORLD is next: on
 * most communicators there is one step, on one in seven there are many. */
static void round_of(long round, long calls, long *world)
{
    long here = round % 7 == 0 || calls < STEP ? calls : STEP, next = 0;
    MPI_Comm comm = make(round);

    go_on(comm, here, &next);
    go_on(MPI_COMM_WORLD, calls - here, world);
    MPI_Comm_free(&comm);
}

/* MPICH has room for a few communicators and allocates it for 256 more, .9 MiB, where they do not
 * suffice: when that is, which differs from rank to rank, depends on the order in which messages
 * arrive. Here it is before memory is measured. */
static void hold_many(void)
{
    MPI_Comm many[32];

    for (int i = 0; i < 32; i++)
        PMPI_Comm_dup(MPI_COMM_WORLD, &many[i]);
    for (int i = 0; i < 32; i++)
        PMPI_Comm_free(&many[i]);
}

int main(int argc, char **argv)
{
    long calls, communicators, world = 0;
    struct held before = {0, 0, 0}, after;

    check_begin(&argc, &argv);
    calls = atol(argv[1]);
    communicators = atol(argv[2]);
    hold_many();
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, MOST, input);
    for (long round = 0; round < communicators; round++) {
        if (round == communicators / 10)
            before = look();
        round_of(round, calls / communicators, &world);
    }
    after = look();
    show("after a tenth", before);
    show("at the end", after);
    check(right, "%ld calls, %ld communicators: sums are right", calls, communicators);
    check(after.memory - before.memory < TOLERATED, "private memory stays as it is");
    check(after.files == before.files, "as many files are open");
    check(after.maps <= before.maps + 8, "and as much is mapped");
    return check_end();
}
