/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/failure.h"

#include "comm/own.h"
#include "mpi/errors.h"

int cgx_failure(const struct cgx_call *call, struct cgx_comm *state, int code, const char *why)
{
    code = cgx_errors_code(code);
    cgx_own_break(state, code);
    return cgx_errors_raise_code(call->comm, code, "%s", why);
}

int cgx_failure_again(const struct cgx_call *call, int code)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int revoked = 0;

    if (mpi->Comm_is_revoked)
        mpi->Comm_is_revoked(call->comm, &revoked);
    /* MPI itself says that the program has revoked the communicator. */
    if (revoked)
        return cgx_call_reduce(call);
    return cgx_errors_raise_code(call->comm, code, "an earlier one on this communicator failed");
}
