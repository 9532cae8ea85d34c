/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the program calls instead of its MPI library. These functions are MPI_Allreduce and so on to
 * the linker only: handles are taken as words, which hold the integers of MPICH's ABI as well as
 * the pointers of others, so that calls of a foreign ABI can be passed on bit for bit. */

#include <limits.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/comm.h"
#include "comm/state.h"
#include "mpi/op_large.h"
#include "mpi/ops.h"
#include "mpi/table.h"
#include "pmpi/allreduce.h"
#include "util/log.h"

#define EXPORT(name) __asm__(name) __attribute__((visibility("default")))

typedef uintptr_t word; /* a handle, or the address of one */

int cgx_export_allreduce(const void *sendbuf, void *recvbuf, int count, word datatype, word op,
                         word comm) EXPORT("MPI_Allreduce");
int cgx_export_allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, word datatype,
                           word op, word comm) EXPORT("MPI_Allreduce_c");
int cgx_export_op_create(MPI_User_function *function, int commute, MPI_Op *op)
    EXPORT("MPI_Op_create");
int cgx_export_op_create_c(cgx_mpi_user_function_c *function, int commute, MPI_Op *op)
    EXPORT("MPI_Op_create_c");
int cgx_export_op_free(MPI_Op *op) EXPORT("MPI_Op_free");
int cgx_export_type_free(MPI_Datatype *datatype) EXPORT("MPI_Type_free");
int cgx_export_comm_set_info(word comm, word info) EXPORT("MPI_Comm_set_info");

/* The object that a function of this file was called from. */
#define CALLER __builtin_return_address(0)

/* ---- reductions ---- */

typedef int allreduce_words(const void *sendbuf, void *recvbuf, int count, word datatype, word op,
                            word comm);
typedef int allreduce_c_words(const void *sendbuf, void *recvbuf, MPI_Count count, word datatype,
                              word op, word comm);
typedef void any_function(void);

static int serve(struct cgx_call *call)
{
    cgx_call_look(call);
    return cgx_allreduce(call);
}

int cgx_export_allreduce(const void *sendbuf, void *recvbuf, int count, word datatype, word op,
                         word comm)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);

    if (mpi->abi == CGX_MPI_ABI_OURS) {
        struct cgx_call call = {.sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .count = count,
                                .datatype = (MPI_Datatype)datatype,
                                .op = (MPI_Op)op,
                                .comm = (MPI_Comm)comm};

        return serve(&call);
    }
    if (mpi->abi == CGX_MPI_ABI_NONE)
        return MPI_ERR_OTHER;
    return ((allreduce_words *)(any_function *)mpi->Allreduce)(sendbuf, recvbuf, count, datatype,
                                                               op, comm);
}

/* mpi4py calls this one because this library exports it: an MPI of before MPI-4 serves it with
 * MPI_Allreduce, as far as that goes. */
int cgx_export_allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, word datatype,
                           word op, word comm)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);
    bool large = mpi->Allreduce_c != NULL;

    if (mpi->abi == CGX_MPI_ABI_NONE)
        return MPI_ERR_OTHER;
    if (!large && (count > INT_MAX || count < INT_MIN))
        return MPI_ERR_COUNT;
    if (mpi->abi == CGX_MPI_ABI_OURS) {
        struct cgx_call call = {.sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .count = count,
                                .datatype = (MPI_Datatype)datatype,
                                .op = (MPI_Op)op,
                                .comm = (MPI_Comm)comm,
                                .large = large};

        return serve(&call);
    }
    if (large)
        return ((allreduce_c_words *)(any_function *)mpi->Allreduce_c)(sendbuf, recvbuf, count,
                                                                       datatype, op, comm);
    return ((allreduce_words *)(any_function *)mpi->Allreduce)(sendbuf, recvbuf, (int)count,
                                                               datatype, op, comm);
}

/* ---- ops ---- */

static void remember_op(const struct cgx_mpi *mpi, MPI_Op op, const struct cgx_op_source *source)
{
    if (mpi->abi == CGX_MPI_ABI_OURS)
        cgx_op_created(op, source);
}

int cgx_export_op_create(MPI_User_function *function, int commute, MPI_Op *op)
{
    const struct cgx_op_source source = {(cgx_op_function *)function, commute != 0, false, CALLER};
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);
    int error;

    if (mpi->Op_create == NULL)
        return MPI_ERR_OTHER;
    error = mpi->Op_create(function, commute, op);
    if (error == MPI_SUCCESS)
        remember_op(mpi, *op, &source);
    return error;
}

int cgx_export_op_create_c(cgx_mpi_user_function_c *function, int commute, MPI_Op *op)
{
    const struct cgx_op_source source = {(cgx_op_function *)function, commute != 0, true, CALLER};
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);
    MPI_User_function *caller;
    int error;

    if (mpi->Op_create == NULL)
        return MPI_ERR_OTHER;
    if (mpi->Op_create_c != NULL) {
        error = mpi->Op_create_c(function, commute, op);
    } else {
        caller = cgx_op_from_large(function);
        if (caller == NULL) {
            cgx_log(CGX_LOG_ERROR,
                    "MPI_Op_create_c fails: %s has none, and at most %d functions "
                    "of ops are served without",
                    mpi->name, CGX_OP_LARGE_MAX);
            return MPI_ERR_OTHER;
        }
        error = mpi->Op_create(caller, commute, op);
    }
    if (error == MPI_SUCCESS)
        remember_op(mpi, *op, &source);
    return error;
}

/* ---- freeing ----
 *
 * A handle is forgotten before it is free, since another thread may get it the moment it is. */

int cgx_export_op_free(MPI_Op *op)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);

    if (mpi->Op_free == NULL)
        return MPI_ERR_OTHER;
    if (mpi->abi == CGX_MPI_ABI_OURS && op != NULL)
        cgx_op_freed(*op);
    return mpi->Op_free(op);
}

int cgx_export_type_free(MPI_Datatype *datatype)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);

    if (mpi->Type_free == NULL)
        return MPI_ERR_OTHER;
    if (mpi->abi == CGX_MPI_ABI_OURS && datatype != NULL)
        cgx_op_type_freed(*datatype);
    return mpi->Type_free(datatype);
}

/* ---- hints ---- */

typedef int comm_set_info_words(word comm, word info);

int cgx_export_comm_set_info(word comm, word info)
{
    const struct cgx_mpi *mpi = cgx_mpi_find(CALLER);
    int error;

    if (mpi->Comm_set_info == NULL)
        return MPI_ERR_OTHER;
    error = ((comm_set_info_words *)(any_function *)mpi->Comm_set_info)(comm, info);
    if (error == MPI_SUCCESS && mpi->abi == CGX_MPI_ABI_OURS)
        error = cgx_comm_hint(mpi, (MPI_Comm)comm, (MPI_Info)info);
    return error;
}
