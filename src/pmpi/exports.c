/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The functions that the program calls instead of those of its MPI library. Only the linker knows
 * them as MPI_Allreduce and so on. Handles are words, which hold the integers of MPICH's ABI as
 * well as the pointers of others, so that calls of an unknown ABI can be passed on bit for bit. */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "comm/comm.h"
#include "cuda/memory.h"
#include "mpi/table.h"
#include "pmpi/call.h"
#include "pmpi/request.h"
#include "util/log.h"

#define EXPORT(name) __asm__(name) __attribute__((visibility("default")))

typedef uintptr_t word; /* a handle, or the address of one */

int cgx_export_allreduce(const void *sendbuf, void *recvbuf, int count, word datatype, word op,
                         word comm) EXPORT("MPI_Allreduce");
int cgx_export_allreduce_c(const void *sendbuf, void *recvbuf, cgx_mpi_count count, word datatype,
                           word op, word comm) EXPORT("MPI_Allreduce_c");
int cgx_export_comm_free(void *comm) EXPORT("MPI_Comm_free");
int cgx_export_comm_disconnect(void *comm) EXPORT("MPI_Comm_disconnect");
int cgx_export_comm_set_info(word comm, word info) EXPORT("MPI_Comm_set_info");
int cgx_export_abort(word comm, int code) EXPORT("MPI_Abort");

/* The version of the library in this process, for cgxpmpi.active() in Python. */
extern const char cgx_export_version[] EXPORT("libcgxpmpi_version");
const char cgx_export_version[] = PACKAGE_VERSION;

/* Whether it knows memory of devices, for cgxpmpi.devices(). */
int cgx_export_devices(void) EXPORT("libcgxpmpi_devices");

int cgx_export_devices(void)
{
    return strcmp(cgx_cuda_build(), "none") != 0;
}

/* An address in the object that called a function of this file. */
#define CALLER __builtin_return_address(0)

/* The code if there is no MPI to ask: MPI_ERR_OTHER of MPICH, and some error of any other MPI. */
#define FAILED 15

static bool is_known(const struct cgx_mpi *mpi)
{
    return mpi->abi == CGX_MPI_ABI_KNOWN;
}

/* ---- reductions ---- */

static int reduce_request(const struct cgx_mpi *mpi, const void *sendbuf, void *recvbuf,
                          cgx_mpi_count count, bool large, word datatype, word op, word comm)
{
    if (is_known(mpi)) {
        struct cgx_request request = {.sendbuf = sendbuf,
                                      .recvbuf = recvbuf,
                                      .count = count,
                                      .datatype = (cgx_mpi_datatype)mpi->handle(datatype),
                                      .op = (cgx_mpi_op)mpi->handle(op),
                                      .comm = (cgx_mpi_comm)mpi->handle(comm),
                                      .large = large};

        cgx_request_complete(&request);
        return cgx_allreduce(&request);
    }
    if (large)
        return mpi->raw.Allreduce_c(sendbuf, recvbuf, count, datatype, op, comm);
    if (!mpi->raw.Allreduce)
        return FAILED;
    return mpi->raw.Allreduce(sendbuf, recvbuf, (int)count, datatype, op, comm);
}

int cgx_export_allreduce(const void *sendbuf, void *recvbuf, int count, word datatype, word op,
                         word comm)
{
    return reduce_request(cgx_mpi_find(CALLER), sendbuf, recvbuf, count, false, datatype, op, comm);
}

/* mpi4py calls this function because this library exports it. If the MPI is older than MPI-4, its
 * MPI_Allreduce serves the call, as far as the count allows. */
int cgx_export_allreduce_c(const void *sendbuf, void *recvbuf, cgx_mpi_count count, word datatype,
                           word op, word comm)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);
    bool large = mpi->raw.Allreduce_c != NULL;

    if (!large && (count > INT_MAX || count < INT_MIN))
        return is_known(mpi) ? mpi->ERR_COUNT : FAILED;
    return reduce_request(mpi, sendbuf, recvbuf, count, large, datatype, op, comm);
}

/* ---- freeing ----
 *
 * A handle is forgotten before it is freed, since another thread may get it at once. */

static int free_comm(const struct cgx_mpi *mpi, int (*function)(void *comm), void *comm)
{
    cgx_mpi_comm before;
    int error;

    if (!function)
        return FAILED;
    if (!is_known(mpi) || !comm)
        return function(comm);
    before = (cgx_mpi_comm)mpi->handle_at(comm);
    cgx_comm_free_begin(before);
    error = function(comm);
    cgx_comm_free_end(before,
                      error == CGX_MPI_SUCCESS || (cgx_mpi_comm)mpi->handle_at(comm) != before);
    return error;
}

int cgx_export_comm_free(void *comm)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);

    return free_comm(mpi, mpi->raw.Comm_free, comm);
}

int cgx_export_comm_disconnect(void *comm)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);

    return free_comm(mpi, mpi->raw.Comm_disconnect, comm);
}

/* ---- hints ---- */

int cgx_export_comm_set_info(word comm, word info)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);
    int error;

    if (!mpi->raw.Comm_set_info)
        return FAILED;
    error = mpi->raw.Comm_set_info(comm, info);
    if (error == CGX_MPI_SUCCESS && is_known(mpi))
        error = cgx_comm_hint((cgx_mpi_comm)mpi->handle(comm), (cgx_mpi_info)mpi->handle(info));
    return error;
}

/* ---- the end ---- */

int cgx_export_abort(word comm, int code)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);

    if (!mpi->raw.Abort)
        return FAILED;
    cgx_finalize_abort();
    return mpi->raw.Abort(comm, code);
}
