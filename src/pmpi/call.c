/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include "comm/private_comm.h"
#include "cuda/pinned_pool.h"
#include "mpi/errors.h"

void cgx_call_query_memory(struct cgx_call *call)
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

/* ---- failures ---- */

int cgx_failure(const struct cgx_call *call, struct cgx_comm *state, int code, const char *why)
{
    code = cgx_errors_code(code);
    cgx_private_break(state, code);
    return cgx_errors_raise_code(call->comm, code, "%s", why);
}

int cgx_failure_again(const struct cgx_call *call, int code)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int revoked = 0;

    if (mpi->Comm_is_revoked)
        mpi->Comm_is_revoked(call->comm, &revoked);
    /* MPI itself reports that the program has revoked the communicator. */
    if (revoked)
        return cgx_call_reduce(call);
    return cgx_errors_raise_code(call->comm, code, "an earlier one on this communicator failed");
}
