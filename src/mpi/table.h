/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The program's own MPI library, of any kind. Nothing is linked: the first intercepted call finds
 * the MPI that the program has loaded, opens it without loading anything, and fills a table with
 * its PMPI_ entry points, handles and constants. Each ABI has one file (abi_mpich.c, abi_openmpi.c,
 * abi_standard.c). */
#ifndef CGX_MPI_TABLE_H
#define CGX_MPI_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Handles are words that hold the integers of MPICH's ABI or the pointers of others. NULL is never
 * a handle. */
typedef struct cgx_mpi_comm_object *cgx_mpi_comm;
typedef struct cgx_mpi_datatype_object *cgx_mpi_datatype;
typedef struct cgx_mpi_op_object *cgx_mpi_op;
typedef struct cgx_mpi_group_object *cgx_mpi_group;
typedef struct cgx_mpi_info_object *cgx_mpi_info;
typedef struct cgx_mpi_errhandler_object *cgx_mpi_errhandler;

typedef int64_t cgx_mpi_count; /* MPI_Count */
typedef intptr_t cgx_mpi_aint; /* MPI_Aint */

#define CGX_MPI_SUCCESS 0

/* The maximum of all ABIs, including the terminating zero. */
#define CGX_MPI_OBJECT_NAME_BYTES 128
#define CGX_MPI_INFO_VALUE_BYTES 1025
#define CGX_MPI_ERROR_BYTES 512
#define CGX_MPI_REQUEST_MOST 8
#define CGX_MPI_STATUS_MOST 32

/* Called when an attribute is deleted. */
typedef void cgx_mpi_attribute_end(void *value);

enum cgx_mpi_abi {
    CGX_MPI_ABI_KNOWN,   /* the table is complete */
    CGX_MPI_ABI_FOREIGN, /* unknown ABI, or an MPI that lacks something needed: only name and RAW
                            are set, whose members may be NULL */
    CGX_MPI_ABI_NONE,    /* no MPI library was found: nothing is set */
};

/* Functions take MPI's arguments unless stated otherwise. */
struct cgx_mpi {
    enum cgx_mpi_abi abi;
    const char *abi_name; /* "MPICH", "Open MPI" or "the MPI standard" */
    /* Version of MPICH itself, for example {4, 0} for 4.0.2; {0, 0} for all others. */
    int version[2];
    char name[64]; /* first line of MPI_Get_library_version up to a comma, for messages */

    /* The intercepted functions with handles as words and addresses. _c are of MPI-4, NULL if the
     * library lacks them. */
    struct {
        int (*Allreduce)(const void *sendbuf, void *recvbuf, int count, uintptr_t datatype,
                         uintptr_t op, uintptr_t comm);
        int (*Allreduce_c)(const void *sendbuf, void *recvbuf, cgx_mpi_count count,
                           uintptr_t datatype, uintptr_t op, uintptr_t comm);
        int (*Comm_set_info)(uintptr_t comm, uintptr_t info);
        int (*Comm_free)(void *comm);
        int (*Comm_disconnect)(void *comm);
        int (*Abort)(uintptr_t comm, int code);
    } raw;

    /* The part of WORD that is the handle: some ABIs use fewer bits. */
    uintptr_t (*handle)(uintptr_t word);
    /* The handle stored at ADDRESS. */
    uintptr_t (*handle_at)(const void *address);

    /* ---- handles and constants ---- */

    cgx_mpi_comm COMM_WORLD, COMM_SELF, COMM_NULL;
    /* Half types are DATATYPE_NULL if the library lacks them. */
    cgx_mpi_datatype DATATYPE_NULL, BYTE, UINT32_T, DOUBLE, FLOAT, REAL, REAL4, C_FLOAT16, REAL2,
        BFLOAT16;
    cgx_mpi_op OP_NULL, SUM, MIN;
    cgx_mpi_errhandler ERRORS_RETURN;
    void *IN_PLACE, *BOTTOM;
    int THREAD_MULTIPLE, ANY_SOURCE, UNDEFINED;
    int ERR_BUFFER, ERR_COUNT, ERR_TYPE, ERR_OTHER, ERR_NO_MEM, ERR_IN_STATUS;
    int FT;            /* the key MPI_FT of MPI_COMM_WORLD, with Comm_is_revoked */
    int communicators; /* how many communicators a process can have, at least */
    /* Sizes of a request and of a status, at most CGX_MPI_REQUEST_MOST and CGX_MPI_STATUS_MOST. */
    size_t request_bytes, status_bytes;
    size_t status_error; /* offset of MPI_ERROR in a status */

    /* What a handle itself shows: whether it may be a datatype, and whether it is an op that the
     * program has created. */
    bool (*looks_like_type)(cgx_mpi_datatype datatype);
    bool (*looks_created)(cgx_mpi_op op);

    /* ---- functions ---- */

    int (*Initialized)(int *flag);
    int (*Finalized)(int *flag);
    int (*Query_thread)(int *level);

    int (*Allreduce)(const void *sendbuf, void *recvbuf, int count, cgx_mpi_datatype datatype,
                     cgx_mpi_op op, cgx_mpi_comm comm);
    int (*Allreduce_c)(const void *sendbuf, void *recvbuf, cgx_mpi_count count,
                       cgx_mpi_datatype datatype, cgx_mpi_op op, cgx_mpi_comm comm); /* or NULL */
    int (*Allgather)(const void *sendbuf, int sendcount, cgx_mpi_datatype sendtype, void *recvbuf,
                     int recvcount, cgx_mpi_datatype recvtype, cgx_mpi_comm comm);

    /* Arrays of requests and statuses are the library's own, of request_bytes and status_bytes per
     * entry. Iprobe, last, is called only to let MPI progress. */
    int (*Isend)(const void *buf, int count, cgx_mpi_datatype datatype, int dest, int tag,
                 cgx_mpi_comm comm, void *request);
    int (*Irecv)(void *buf, int count, cgx_mpi_datatype datatype, int source, int tag,
                 cgx_mpi_comm comm, void *request);
    int (*Testsome)(int incount, void *requests, int *outcount, int *indices, void *statuses);
    int (*Get_count)(const void *status, cgx_mpi_datatype datatype, int *count);
    int (*Iprobe)(int source, int tag, cgx_mpi_comm comm, int *flag); /* ignores the status */

    int (*Comm_rank)(cgx_mpi_comm comm, int *rank);
    int (*Comm_size)(cgx_mpi_comm comm, int *size);
    int (*Comm_test_inter)(cgx_mpi_comm comm, int *flag);
    int (*Comm_get_name)(cgx_mpi_comm comm, char *name, int *length);
    int (*Comm_split)(cgx_mpi_comm comm, int color, int key, cgx_mpi_comm *newcomm);
    int (*Comm_free)(cgx_mpi_comm *comm);
    int (*Comm_group)(cgx_mpi_comm comm, cgx_mpi_group *group);
    int (*Group_translate_ranks)(cgx_mpi_group group, int n, const int *ranks, cgx_mpi_group to,
                                 int *translated);
    int (*Group_free)(cgx_mpi_group *group);

    /* Attributes that are not copied with a communicator; END (or NULL) is called on deletion. */
    int (*Comm_create_keyval)(cgx_mpi_attribute_end *end, int *keyval);
    int (*Comm_free_keyval)(int *keyval);
    int (*Comm_get_attr)(cgx_mpi_comm comm, int keyval, void *value, int *flag);
    int (*Comm_set_attr)(cgx_mpi_comm comm, int keyval, void *value);
    int (*Comm_delete_attr)(cgx_mpi_comm comm, int keyval);
    int (*Info_get)(cgx_mpi_info info, const char *key, int length, char *value, int *flag);

    int (*Comm_get_errhandler)(cgx_mpi_comm comm, cgx_mpi_errhandler *handler);
    int (*Comm_set_errhandler)(cgx_mpi_comm comm, cgx_mpi_errhandler handler);
    int (*Comm_call_errhandler)(cgx_mpi_comm comm, int code);
    int (*Errhandler_free)(cgx_mpi_errhandler *handler);
    int (*Add_error_code)(int class, int *code);
    int (*Add_error_string)(int code, const char *string);
    int (*Error_class)(int code, int *class);
    int (*Error_string)(int code, char *string, int *length);

    int (*Type_size)(cgx_mpi_datatype datatype, int *size);
    int (*Type_get_extent)(cgx_mpi_datatype datatype, cgx_mpi_aint *bound, cgx_mpi_aint *extent);
    int (*Type_get_true_extent)(cgx_mpi_datatype datatype, cgx_mpi_aint *bound,
                                cgx_mpi_aint *extent);

    /* Extensions of some libraries; NULL if missing. They may abort before MPI_Init.
     * GPU_query_support is for type CGX_MPI_GPU_CUDA. */
    int (*GPU_query_support)(int gpu_type, int *is_supported);
    int (*Query_cuda_support)(void);

    /* The communicator that Fortran knows as the integer COMM; NULL: unknown. */
    cgx_mpi_comm (*Comm_f2c)(int comm);

    /* How Fortran passes other arguments, if the MPI's Fortran calls PMPI_Allreduce instead of
     * MPI_Allreduce; otherwise all NULL. */
    struct {
        cgx_mpi_datatype (*Type_f2c)(int datatype);
        cgx_mpi_op (*Op_f2c)(int op);
        cgx_mpi_datatype INTEGER; /* the type of handles, if it has the size of an int */
        /* The addresses that stand for MPI_IN_PLACE and MPI_BOTTOM. */
        const void *IN_PLACE, *BOTTOM;
        bool has_addresses_08; /* mpi_f08 passes buffers as addresses, not as descriptors */
    } fortran;

    /* Fault tolerance (ULFM): both or NULL. MPICH's Comm_revoke aborts, and it has no other. */
    int (*Comm_revoke)(cgx_mpi_comm comm);
    int (*Comm_is_revoked)(cgx_mpi_comm comm, int *flag);
};

#define CGX_MPI_GPU_CUDA 0 /* MPIX_GPU_SUPPORT_CUDA */

/* The table, filled in the process's first call. CALLER: an address in the object that called MPI;
 * its dependencies are searched first, then all loaded objects. Never NULL; thread-safe; an atomic
 * load once filled. The library found stays loaded. Prints one error if no MPI is found, or one of
 * an unknown ABI. May be called before MPI_Init. */
const struct cgx_mpi *cgx_mpi_find(const void *caller);

/* Whether this process should log what concerns all ranks of a job, according to the launcher, when
 * MPI cannot be asked. */
bool cgx_mpi_logs_for_job(void);

/* The address of SYMBOL in CALLER's object or its dependencies, otherwise in any other loaded
 * object; NULL: not found. */
void *cgx_mpi_symbol(const void *caller, const char *symbol);

/* The table after cgx_mpi_find has returned, before that NULL. */
extern _Atomic(const struct cgx_mpi *) cgx_mpi_found;
static inline const struct cgx_mpi *cgx_mpi(void)
{
    return atomic_load_explicit(&cgx_mpi_found, memory_order_acquire);
}

/* The error code of a call of Testsome that returned CODE and DONE STATUSES. Only these statuses
 * may have an error. */
int cgx_mpi_error_of(const struct cgx_mpi *mpi, int code, int done, const unsigned char *statuses);

/* Logs WHAT with the text of CODE, at level error. */
void cgx_mpi_log_error(const struct cgx_mpi *mpi, const char *what, int code);

#endif
