/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An exact call is one PMPI_Allreduce with the caller's own arguments, whatever they are, and
 * returns its value. The program replaces PMPI_Allreduce and answers odd calls itself, since MPI
 * libraries crash on some of them. */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"

#define ANSWER 4711 /* what no MPI returns */

/* The arguments of the latest call; ANSWERING: calls are not passed on. */
static struct {
    const void *from;
    void *to;
    long long count;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
    int calls;
} seen;

static int answering;

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static void record(const void *from, void *to, long long count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    seen.from = from;
    seen.to = to;
    seen.count = count;
    seen.datatype = datatype;
    seen.op = op;
    seen.comm = comm;
    seen.calls++;
}

int PMPI_Allreduce(const void *from, void *to, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    static allreduce *next;

    if (!next)
        next = (allreduce *)dlsym(RTLD_NEXT, "PMPI_Allreduce");
    record(from, to, count, datatype, op, comm);
    return answering ? ANSWER : next(from, to, count, datatype, op, comm);
}

#if MPI_VERSION >= 4
int PMPI_Allreduce_c(const void *from, void *to, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm)
{
    record(from, to, count, datatype, op, comm);
    return ANSWER;
}
#endif

static void test_call(const char *name, const void *from, void *to, int count,
                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    bool good;

    memset(&seen, 0, sizeof seen);
    answering = 1;
    good = MPI_Allreduce(from, to, count, datatype, op, comm) == ANSWER;
    answering = 0;
    good = good && seen.calls == 1 && seen.from == from && seen.to == to && seen.count == count &&
           seen.datatype == datatype && seen.op == op && seen.comm == comm;
    check(good, "%s: passed on once, as it is", name);
}

#if MPI_VERSION >= 4
static void test_large(const void *from, void *to, MPI_Count count)
{
    bool good;

    memset(&seen, 0, sizeof seen);
    good = MPI_Allreduce_c(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == ANSWER;
    good = good && seen.calls == 1 && seen.from == from && seen.to == to && seen.count == count;
    check(good, "MPI_Allreduce_c of %lld: passed on once, as it is", (long long)count);
}
#endif

int main(int argc, char **argv)
{
    enum { N = 4096 };
    float *buffer = calloc(2 * N, sizeof(float)), *other = buffer + N;
    MPI_Comm world = MPI_COMM_WORLD;

    check_begin(&argc, &argv);
    /* Ranks compare settings in the fourth call that could be compressed, at the latest. */
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(buffer, other, N, MPI_FLOAT, MPI_SUM, world);
    test_call("negative count", buffer, other, -1, MPI_FLOAT, MPI_SUM, world);
    test_call("most negative count", buffer, other, -2147483647 - 1, MPI_FLOAT, MPI_SUM, world);
    test_call("no elements", NULL, NULL, 0, MPI_FLOAT, MPI_SUM, world);
    test_call("no elements in place", MPI_IN_PLACE, NULL, 0, MPI_FLOAT, MPI_SUM, world);
    test_call("aliased buffers", buffer, buffer, N, MPI_FLOAT, MPI_SUM, world);
    test_call("NULL send buffer", NULL, other, N, MPI_FLOAT, MPI_SUM, world);
    test_call("NULL receive buffer", buffer, NULL, N, MPI_FLOAT, MPI_SUM, world);
    test_call("MPI_IN_PLACE as receive buffer", buffer, MPI_IN_PLACE, N, MPI_FLOAT, MPI_SUM, world);
    test_call("no datatype", buffer, other, N, MPI_DATATYPE_NULL, MPI_SUM, world);
    test_call("no op", buffer, other, N, MPI_FLOAT, MPI_OP_NULL, world);
    test_call("an op that floats do not have", buffer, other, N, MPI_FLOAT, MPI_BAND, world);
    test_call("no communicator", buffer, other, N, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL);
    test_call("a handle that is none", buffer, other, N, (MPI_Datatype)0x12345678, MPI_SUM, world);
    test_call("doubles", buffer, other, N / 2, MPI_DOUBLE, MPI_SUM, world);
    test_call("few floats", buffer, other, 1000, MPI_FLOAT, MPI_SUM, world);
#if MPI_VERSION >= 4
    test_large(buffer, other, -1);
    test_large(buffer, other, 0);
    test_large(buffer, other, 1000);
    test_large(buffer, buffer, N);
#endif
    free(buffer);
    return check_end();
}
