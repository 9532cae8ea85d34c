/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The program's own MPI library. Nothing is linked: at the first intercepted call the library that
 * the program has loaded is found, opened without loading anything, and its PMPI_ entry points are
 * put into one table. */
#ifndef CGX_MPI_TABLE_H
#define CGX_MPI_TABLE_H

#include <mpi.h>
#include <stdbool.h>

/* Entry points that every MPI-3 library of the ABI has ... */
#define CGX_MPI_REQUIRED(X)  \
    X(Allgather)             \
    X(Allreduce)             \
    X(Add_error_code)        \
    X(Add_error_string)      \
    X(Bcast)                 \
    X(Comm_call_errhandler)  \
    X(Comm_create_keyval)    \
    X(Comm_free)             \
    X(Comm_free_keyval)      \
    X(Comm_get_attr)         \
    X(Comm_get_errhandler)   \
    X(Comm_get_name)         \
    X(Comm_group)            \
    X(Comm_rank)             \
    X(Comm_set_attr)         \
    X(Comm_set_errhandler)   \
    X(Comm_set_info)         \
    X(Comm_size)             \
    X(Comm_split)            \
    X(Comm_split_type)       \
    X(Comm_test_inter)       \
    X(Errhandler_free)       \
    X(Error_string)          \
    X(Get_count)             \
    X(Get_library_version)   \
    X(Group_free)            \
    X(Group_translate_ranks) \
    X(Info_get)              \
    X(Initialized)           \
    X(Iprobe)                \
    X(Irecv)                 \
    X(Isend)                 \
    X(Op_create)             \
    X(Op_free)               \
    X(Reduce)                \
    X(Testsome)              \
    X(Type_free)             \
    X(Type_get_contents)     \
    X(Type_get_envelope)     \
    X(Type_get_extent)       \
    X(Type_get_true_extent)  \
    X(Type_size)

/* ... and those of MPI-4, NULL where the library has none. Their types are spelled out, since an
 * mpi.h of MPI-3 does not declare them. */
typedef void cgx_mpi_user_function_c(void *in, void *inout, MPI_Count *count,
                                     MPI_Datatype *datatype);
typedef int cgx_mpi_allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
typedef int cgx_mpi_op_create_c(cgx_mpi_user_function_c *function, int commute, MPI_Op *op);

/* Extensions that some libraries have, whatever their mpi.h declares; NULL where it has none.
 * Before MPI_Init they may abort. */
typedef int cgx_mpi_gpu_query_support(int gpu_type, int *is_supported);
typedef int cgx_mpi_query_cuda_support(void);
#define CGX_MPI_GPU_CUDA 0 /* MPIX_GPU_SUPPORT_CUDA */

/* What a handle says by itself. MPICH's ABI: the two upper bits are 0 for a null handle, 1 for a
 * predefined object and more for others, the next four are the kind of object. Open MPI's are
 * pointers, which say nothing. */
#ifdef OPEN_MPI
#define CGX_MPI_LOOKS_LIKE_TYPE(datatype) ((datatype) != MPI_DATATYPE_NULL)
#define CGX_MPI_LOOKS_CREATED(op) ((op) != MPI_OP_NULL)
#else
#define CGX_MPI_LOOKS_LIKE_TYPE(datatype) \
    (((unsigned)(datatype)&0x3C000000u) == 0x0C000000u && (unsigned)(datatype) >= 0x40000000u)
#define CGX_MPI_LOOKS_CREATED(op) (((unsigned)(op)&0xBC000000u) == 0x98000000u)
#endif

enum cgx_mpi_abi {
    CGX_MPI_ABI_OURS,    /* handles and constants are those of the mpi.h we were compiled with */
    CGX_MPI_ABI_FOREIGN, /* another ABI: entry points may only be called with the caller's words,
                          * and may be NULL where it lacks them */
    CGX_MPI_ABI_NONE,    /* no MPI library was found: no entry point may be called */
};

struct cgx_mpi {
    enum cgx_mpi_abi abi;
    int version[2]; /* of MPICH itself, as 4.0.2: {4, 0}; of all others {0, 0} */
    char name[64];  /* first line of MPI_Get_library_version up to a comma, for messages */
#define CGX_MPI_MEMBER(function) __typeof__(PMPI_##function) *(function);
    CGX_MPI_REQUIRED(CGX_MPI_MEMBER)
#undef CGX_MPI_MEMBER
    cgx_mpi_allreduce_c *Allreduce_c;
    cgx_mpi_op_create_c *Op_create_c;
    cgx_mpi_gpu_query_support *GPU_query_support;
    cgx_mpi_query_cuda_support *Query_cuda_support;
};

/* The table, filled on the first call of the process: CALLER is an address within the object that
 * called MPI, whose own dependencies are searched first, then all loaded objects. Never NULL;
 * thread-safe; an atomic load once it is filled. The library found stays loaded. Prints one error
 * where no MPI is found, or one of another ABI. May be called before MPI_Init. */
const struct cgx_mpi *cgx_mpi_find(const void *caller);

/* The table once cgx_mpi_find has returned, NULL before. */
const struct cgx_mpi *cgx_mpi(void);

/* Logs the text of CODE behind WHAT, at level error. */
void cgx_mpi_log_error(const struct cgx_mpi *mpi, const char *what, int code);

#endif
