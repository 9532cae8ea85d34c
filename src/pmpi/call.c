/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include "cuda/pinned_pool.h"

void cgx_call_look(struct cgx_call *call)
{
    call->send = call->receive = (struct cgx_pointer){.memory = CGX_MEMORY_HOST};
    if (call->count <= 0 || !cgx_pinned_possible())
        return;
    if (call->recvbuf != cgx_mpi()->IN_PLACE)
        call->receive = cgx_cuda_pointer(call->recvbuf);
    call->send = call->sendbuf == cgx_mpi()->IN_PLACE || call->sendbuf == call->recvbuf
                     ? call->receive
                     : cgx_cuda_pointer(call->sendbuf);
}

const void *cgx_call_input(const struct cgx_call *call)
{
    return call->sendbuf == cgx_mpi()->IN_PLACE ? call->recvbuf : call->sendbuf;
}

int cgx_call_reduce(const struct cgx_call *call)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    if (call->large)
        return mpi->Allreduce_c(call->sendbuf, call->recvbuf, call->count, call->datatype, call->op,
                                call->comm);
    return mpi->Allreduce(call->sendbuf, call->recvbuf, (int)call->count, call->datatype, call->op,
                          call->comm);
}
