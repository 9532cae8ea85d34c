/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Programs for CGX_TRACE:
 *   "trace world N COUNT"  N sums of COUNT elements on MPI_COMM_WORLD
 *   "trace clocks N COUNT" the same, where each rank's clock is 1000 s ahead of that of the rank
 *                          before, as those of different hosts may be
 *   "trace late N COUNT"   the same; then rank 0 finalises at once, while the others wait for a
 *                          while for messages with any tag, which they send each other
 *   "trace some N COUNT"   sums on a communicator that lacks the last rank, which makes no call
 *   "trace lost N COUNT"   sums as of world, then no reduction of MPI's succeeds any more
 *   "trace fails N COUNT CALL NTH RANK"  sums as of world, then the NTH call of Isend, Irecv or
 *                          Testsome fails on RANK
 *   "trace hosts N COUNT"  sums as of world, on several hosts: ranks leave in MPI_Finalize as soon
 *                          as the library has written, since what MPICH does next may hang there */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "faults/call_faults.h"
#include "lib/check.h"
#include "lib/data.h"

static time_t ahead; /* seconds */

/* In the place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int code = (int)syscall(SYS_clock_gettime, clock, now);

    if (clock == CLOCK_MONOTONIC)
        now->tv_sec += ahead;
    return code;
}

static bool lost;

/* In the place of MPI's. */
int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    static __typeof__(PMPI_Allreduce) *mpi;

    if (lost)
        return MPI_ERR_OTHER;
    if (!mpi)
        mpi = (__typeof__(mpi))dlsym(RTLD_NEXT, "PMPI_Allreduce");
    return mpi(sendbuf, recvbuf, count, datatype, op, comm);
}

static bool take_sums(MPI_Comm comm, unsigned calls, int count)
{
    float *buffer = check_memory((size_t)count * sizeof *buffer);
    bool all_succeed = true;

    for (unsigned i = 0; i < calls; i++) {
        data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, i, check_rank, (size_t)count, buffer);
        all_succeed =
            MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS &&
            all_succeed;
    }
    free(buffer);
    return all_succeed;
}

/* Between all ranks but 0. */
static bool pass_message(void)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    int next = check_rank % (check_size - 1) + 1, got = 0;
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    nanosleep(&pause, NULL);
    MPI_Send(&next, 1, MPI_INT, next, 77, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    return status.MPI_SOURCE != 0 && status.MPI_TAG == 77 && got == check_rank;
}

/* Attributes go in the reverse of the order in which they came: this one after the library's. */
static int leave(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    PMPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}

static void leave_early(void)
{
    int keyval;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    int count = argc > 3 ? atoi(argv[3]) : 0, code;
    bool good = true;

    check_begin(&argc, &argv);
    if (strcmp(what, "clocks") == 0)
        ahead = 1000 * check_rank;
    if (strcmp(what, "hosts") == 0)
        leave_early();
    if (strcmp(what, "some") == 0) {
        bool takes_part = check_rank + 1 < check_size;
        MPI_Comm comm;

        MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, check_rank, &comm);
        if (takes_part) {
            good = take_sums(comm, calls, count);
            MPI_Comm_free(&comm);
        }
    } else {
        good = take_sums(MPI_COMM_WORLD, calls, count);
    }
    check(good, "all calls succeed");
    good = strcmp(what, "late") != 0 || check_rank == 0 || pass_message();
    lost = strcmp(what, "lost") == 0;
    if (argc > 6 && atoi(argv[6]) == check_rank)
        call_faults_set(argv[4], atoi(argv[5]));
    code = check_end();
    return good ? code : 1;
}
