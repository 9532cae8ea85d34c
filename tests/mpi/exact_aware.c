/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An MPI that is CUDA-aware gets device buffers unchanged; it is asked once, and not before
 * MPI_Init. This program stands in for that MPI and has the functions that the library looks for.
 * The argument says which of the two answers yes: gpu, cuda or none. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/device.h"

static const char *says;
static int asked_gpu, asked_cuda;
static const void *got_send, *got_receive;
static int calls;
static bool inside; /* a call that the library is to see */

int MPIX_GPU_query_support(int gpu_type, int *is_supported);
int MPIX_Query_cuda_support(void);

int MPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    asked_gpu++;
    *is_supported = gpu_type == 0 && strcmp(says, "gpu") == 0;
    return MPI_SUCCESS;
}

int MPIX_Query_cuda_support(void)
{
    asked_cuda++;
    return strcmp(says, "cuda") == 0;
}

typedef int allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm);

int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    static allreduce *real;

    if (inside) {
        calls++;
        got_send = sendbuf;
        got_receive = recvbuf;
        return MPI_SUCCESS;
    }
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    return real(sendbuf, recvbuf, count, datatype, op, comm);
}

static void call(const void *send, void *receive)
{
    inside = true;
    MPI_Allreduce(send, receive, 100, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    inside = false;
}

int main(int argc, char **argv)
{
    bool there = device_open(0), yes;
    void *send = NULL, *receive = NULL;

    says = argc > 1 ? argv[1] : "none";
    yes = strcmp(says, "none") != 0;
    if (there) {
        send = device_alloc(400);
        receive = device_alloc(400);
        call(send, receive);
    }
    check_begin(&argc, &argv);
    if (!check_has(there, "an MPI that is CUDA-aware", "no CUDA driver, or no device"))
        return check_end();
    check(calls == 1 && asked_gpu == 0 && asked_cuda == 0, "it is not asked before MPI_Init");
    for (int i = 0; i < 3; i++)
        call(send, receive);
    check(calls == 4, "each call is one call");
    check(asked_gpu == 1 && asked_cuda <= 1, "it is asked once");
    check((got_send == send) == yes && (got_receive == receive) == yes,
          yes ? "it gets the device buffers" : "it gets others");
    return check_end();
}
