/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Programs for CGX_STATS, and for what is said of sums:
 *   "stats steps N"     N steps of three buffers, the first with segments of different scales, on
 *                       MPI_COMM_WORLD; then of one on a named communicator, which is freed
 *   "stats many N"      N communicators, one after the other, of one buffer each
 *   "stats alike N M"   the same of M buffers each, which all ranks have alike: they stay exact
 *   "stats counts N"    N calls of different counts
 *   "stats exit N"      N steps, and then a child that is forked and the process itself exit
 *   "stats killed N"    N steps, and then SIGKILL
 *   "stats abort N"     N steps, and then MPI_Abort on rank 0, for which the others wait
 */

#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/sums.h"

#define SEGMENT 65536

static bool all_succeed = true, alike;

/* Sums COUNT elements; those of segment s are 4^s apart in scale. */
static void reduce(MPI_Comm comm, size_t count, unsigned step)
{
    size_t segments = count / SEGMENT + 1;
    float *buffer = check_memory(count * sizeof *buffer);

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, step, alike ? 0 : check_rank, count, buffer);
    for (size_t i = 0; i < count; i++)
        buffer[i] *= (float)ldexp(1, 2 * (int)(i / SEGMENT % segments));
    all_succeed =
        MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS &&
        all_succeed;
    free(buffer);
}

static void take_steps(unsigned steps)
{
    MPI_Comm comm;

    for (unsigned i = 0; i < steps; i++) {
        reduce(MPI_COMM_WORLD, 3 * SEGMENT + 100, i);
        reduce(MPI_COMM_WORLD, 30000, i);
        reduce(MPI_COMM_WORLD, 2000, i);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "a \"pair\" \\ of\tranks \xC3\xA9 \xE9 \xED\xA0\x80");
    for (unsigned i = 0; i < steps; i++)
        reduce(comm, 50000, i);
    MPI_Comm_free(&comm);
}

static void make_many(unsigned communicators, unsigned sums, size_t count)
{
    for (unsigned i = 0; i < communicators; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (unsigned k = 0; k < sums; k++)
            reduce(comm, count, i + k);
        MPI_Comm_free(&comm);
    }
}

/* Without MPI_Finalize; all ranks have made their calls then. */
static void leave(const char *how)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "exit") == 0) {
        pid_t child = fork();

        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
        exit(0);
    }
    if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL);
    if (check_rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    const char *what = argc > 1 ? argv[1] : "";
    static const char *const ends[] = {"exit", "killed", "abort"};

    check_begin(&argc, &argv);
    /* Numbers of this program may have commas. */
    setlocale(LC_ALL, "");
    if (strcmp(what, "steps") == 0)
        take_steps(times);
    else if (strcmp(what, "many") == 0)
        make_many(times, 1, 2048);
    alike = strcmp(what, "alike") == 0;
    if (alike)
        make_many(times, (unsigned)atoi(argv[3]), 20000);
    for (unsigned i = 0; strcmp(what, "counts") == 0 && i < times; i++)
        reduce(MPI_COMM_WORLD, 1024 + i, i);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(what, ends[i]) != 0)
            continue;
        take_steps(times);
        leave(what);
    }
    check(all_succeed, "all calls succeed");
    return check_end();
}
