/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "../lib/sums.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <string.h>

static const char *failing = "";
static call_faults_change *change_message;

/* Calls and messages until the one that fails or is spoilt; 0: none is to come. */
static atomic_int calls_left, messages_left;

void call_faults_set(const char *call, int nth)
{
    failing = call;
    atomic_store(&calls_left, nth);
}

bool call_faults_expected(void)
{
    return atomic_load(&calls_left) > 0;
}

void call_faults_spoil(int nth, call_faults_change *change)
{
    change_message = change;
    atomic_store(&messages_left, nth);
}

static bool is_last(atomic_int *left)
{
    return atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1;
}

static bool fails(const char *call)
{
    return strcmp(call, failing) == 0 && is_last(&calls_left);
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    static unsigned char spoilt[1 << 16]; /* there until it is sent */
    int size;

    if (fails("isend"))
        return MPI_ERR_OTHER;
    PMPI_Type_size(datatype, &size);
    if (is_last(&messages_left) && (size_t)count * (size_t)size <= sizeof spoilt) {
        memcpy(spoilt, buffer, (size_t)count * (size_t)size);
        change_message(spoilt, (size_t)count * (size_t)size);
        buffer = spoilt;
    }
    return MPI_Isend(buffer, count, datatype, destination, tag, comm, request);
}

int PMPI_Irecv(void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    if (fails("irecv"))
        return MPI_ERR_OTHER;
    return MPI_Irecv(buffer, count, datatype, source, tag, comm, request);
}

int PMPI_Testsome(int count, MPI_Request *requests, int *outcount, int *indices,
                  MPI_Status *statuses)
{
    if (fails("testsome"))
        return MPI_ERR_OTHER;
    return MPI_Testsome(count, requests, outcount, indices, statuses);
}

int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (fails("allgather"))
        return MPI_ERR_OTHER;
    return MPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

/* Of a ballot: the other ranks have the joint words. */
int PMPI_Allreduce(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    int (*real)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    bool failed = datatype == MPI_UINT32_T && fails("ballot");
    int code;

    *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    code = real(from, to, n, datatype, op, comm);
    return failed ? MPI_ERR_OTHER : code;
}

/* The other ranks have a communicator, without this one. */
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    bool failed = fails("split");
    int code = MPI_Comm_split(comm, failed ? MPI_UNDEFINED : color, key, made);

    return failed ? MPI_ERR_OTHER : code;
}
