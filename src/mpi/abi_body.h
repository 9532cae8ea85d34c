/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Translates calls with words into calls of an MPI whose handles are HANDLE, an integer or a
 * pointer. An abi_*.c defines these and includes this file once:
 *
 *     HANDLE             the type of all handles
 *     STATUS_BYTES       the size of MPI_Status
 *     STATUS_ERROR       the offset of MPI_ERROR in it
 *     STATUS_IGNORE      MPI_STATUS_IGNORE
 *
 * It then fills the table with translate(), which returns the name of a function that LIBRARY
 * lacks, or NULL. */
#include <dlfcn.h>
#include <string.h>

#include "mpi/abi.h"
#include "mpi/table.h"

#define NATIVE(handle) ((HANDLE)(intptr_t)(handle))
#define WORD(type, handle) ((type)(intptr_t)(handle))

/* CALL(NAME, PARAMETERS, TYPES, ARGUMENTS): a function whose native parameters have TYPES. */
#define CALL(name, parameters, types, arguments) \
    static int(*native_##name) types;            \
    static int call_##name parameters            \
    {                                            \
        return native_##name arguments;          \
    }

/* ---- functions whose handles alone differ ---- */

CALL(Initialized, (int *flag), (int *), (flag))
CALL(Finalized, (int *flag), (int *), (flag))
CALL(Query_thread, (int *level), (int *), (level))
CALL(Allreduce,
     (const void *sendbuf, void *recvbuf, int count, cgx_mpi_datatype datatype, cgx_mpi_op op,
      cgx_mpi_comm comm),
     (const void *, void *, int, HANDLE, HANDLE, HANDLE),
     (sendbuf, recvbuf, count, NATIVE(datatype), NATIVE(op), NATIVE(comm)))
CALL(Allreduce_c,
     (const void *sendbuf, void *recvbuf, cgx_mpi_count count, cgx_mpi_datatype datatype,
      cgx_mpi_op op, cgx_mpi_comm comm),
     (const void *, void *, cgx_mpi_count, HANDLE, HANDLE, HANDLE),
     (sendbuf, recvbuf, count, NATIVE(datatype), NATIVE(op), NATIVE(comm)))
CALL(Allgather,
     (const void *sendbuf, int sendcount, cgx_mpi_datatype sendtype, void *recvbuf, int recvcount,
      cgx_mpi_datatype recvtype, cgx_mpi_comm comm),
     (const void *, int, HANDLE, void *, int, HANDLE, HANDLE),
     (sendbuf, sendcount, NATIVE(sendtype), recvbuf, recvcount, NATIVE(recvtype), NATIVE(comm)))
CALL(Isend,
     (const void *buf, int count, cgx_mpi_datatype datatype, int dest, int tag, cgx_mpi_comm comm,
      void *request),
     (const void *, int, HANDLE, int, int, HANDLE, HANDLE *),
     (buf, count, NATIVE(datatype), dest, tag, NATIVE(comm), request))
CALL(Irecv,
     (void *buf, int count, cgx_mpi_datatype datatype, int source, int tag, cgx_mpi_comm comm,
      void *request),
     (void *, int, HANDLE, int, int, HANDLE, HANDLE *),
     (buf, count, NATIVE(datatype), source, tag, NATIVE(comm), request))
CALL(Testsome, (int incount, void *requests, int *outcount, int *indices, void *statuses),
     (int, HANDLE *, int *, int *, void *), (incount, requests, outcount, indices, statuses))
CALL(Get_count, (const void *status, cgx_mpi_datatype datatype, int *count),
     (const void *, HANDLE, int *), (status, NATIVE(datatype), count))
CALL(Iprobe, (int source, int tag, cgx_mpi_comm comm, int *flag), (int, int, HANDLE, int *, void *),
     (source, tag, NATIVE(comm), flag, STATUS_IGNORE))
CALL(Comm_rank, (cgx_mpi_comm comm, int *rank), (HANDLE, int *), (NATIVE(comm), rank))
CALL(Comm_size, (cgx_mpi_comm comm, int *size), (HANDLE, int *), (NATIVE(comm), size))
CALL(Comm_test_inter, (cgx_mpi_comm comm, int *flag), (HANDLE, int *), (NATIVE(comm), flag))
CALL(Comm_get_name, (cgx_mpi_comm comm, char *name, int *length), (HANDLE, char *, int *),
     (NATIVE(comm), name, length))
CALL(Group_translate_ranks,
     (cgx_mpi_group group, int n, const int *ranks, cgx_mpi_group to, int *translated),
     (HANDLE, int, const int *, HANDLE, int *), (NATIVE(group), n, ranks, NATIVE(to), translated))
CALL(Comm_free_keyval, (int *keyval), (int *), (keyval))
CALL(Comm_get_attr, (cgx_mpi_comm comm, int keyval, void *value, int *flag),
     (HANDLE, int, void *, int *), (NATIVE(comm), keyval, value, flag))
CALL(Comm_set_attr, (cgx_mpi_comm comm, int keyval, void *value), (HANDLE, int, void *),
     (NATIVE(comm), keyval, value))
CALL(Comm_delete_attr, (cgx_mpi_comm comm, int keyval), (HANDLE, int), (NATIVE(comm), keyval))
CALL(Info_get, (cgx_mpi_info info, const char *key, int length, char *value, int *flag),
     (HANDLE, const char *, int, char *, int *), (NATIVE(info), key, length, value, flag))
CALL(Comm_set_errhandler, (cgx_mpi_comm comm, cgx_mpi_errhandler handler), (HANDLE, HANDLE),
     (NATIVE(comm), NATIVE(handler)))
CALL(Comm_call_errhandler, (cgx_mpi_comm comm, int code), (HANDLE, int), (NATIVE(comm), code))
CALL(Add_error_code, (int class, int *code), (int, int *), (class, code))
CALL(Add_error_string, (int code, const char *string), (int, const char *), (code, string))
CALL(Error_class, (int code, int *class), (int, int *), (code, class))
CALL(Error_string, (int code, char *string, int *length), (int, char *, int *),
     (code, string, length))
CALL(Type_size, (cgx_mpi_datatype datatype, int *size), (HANDLE, int *), (NATIVE(datatype), size))
CALL(Type_get_extent, (cgx_mpi_datatype datatype, cgx_mpi_aint *bound, cgx_mpi_aint *extent),
     (HANDLE, cgx_mpi_aint *, cgx_mpi_aint *), (NATIVE(datatype), bound, extent))
CALL(Type_get_true_extent, (cgx_mpi_datatype datatype, cgx_mpi_aint *bound, cgx_mpi_aint *extent),
     (HANDLE, cgx_mpi_aint *, cgx_mpi_aint *), (NATIVE(datatype), bound, extent))

CALL(Comm_revoke, (cgx_mpi_comm comm), (HANDLE), (NATIVE(comm)))
CALL(Comm_is_revoked, (cgx_mpi_comm comm, int *flag), (HANDLE, int *), (NATIVE(comm), flag))

/* ---- functions that set or free a handle ---- */

/* MAKE(NAME, TYPE, PARAMETERS, TYPES, ARGUMENTS): the last of PARAMETERS is TYPE *made, the last of
 * ARGUMENTS &native. */
#define MAKE(name, type, parameters, types, arguments) \
    static int(*native_##name) types;                  \
    static int call_##name parameters                  \
    {                                                  \
        HANDLE native;                                 \
        int code = native_##name arguments;            \
                                                       \
        if (code == CGX_MPI_SUCCESS)                   \
            *made = WORD(type, native);                \
        return code;                                   \
    }

MAKE(Comm_split, cgx_mpi_comm, (cgx_mpi_comm comm, int color, int key, cgx_mpi_comm *made),
     (HANDLE, int, int, HANDLE *), (NATIVE(comm), color, key, &native))
MAKE(Comm_group, cgx_mpi_group, (cgx_mpi_comm comm, cgx_mpi_group *made), (HANDLE, HANDLE *),
     (NATIVE(comm), &native))
MAKE(Comm_get_errhandler, cgx_mpi_errhandler, (cgx_mpi_comm comm, cgx_mpi_errhandler *made),
     (HANDLE, HANDLE *), (NATIVE(comm), &native))

#define FREE(name, type)                   \
    static int (*native_##name)(HANDLE *); \
    static int call_##name(type *handle)   \
    {                                      \
        HANDLE native = NATIVE(*handle);   \
        int code = native_##name(&native); \
                                           \
        *handle = WORD(type, native);      \
        return code;                       \
    }

FREE(Comm_free, cgx_mpi_comm)
FREE(Group_free, cgx_mpi_group)
FREE(Errhandler_free, cgx_mpi_errhandler)

/* ---- callbacks ---- */

typedef int copy_attribute(HANDLE comm, int keyval, void *extra, void *in, void *out, int *flag);
typedef int delete_attribute(HANDLE comm, int keyval, void *value, void *extra);

static int (*native_Comm_create_keyval)(copy_attribute *, delete_attribute *, int *, void *);

static int copy_nothing(HANDLE comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 0;
    return CGX_MPI_SUCCESS;
}

static int end_attribute(HANDLE comm, int keyval, void *value, void *extra)
{
    cgx_mpi_attribute_end *end = (cgx_mpi_attribute_end *)extra;

    (void)comm, (void)keyval;
    if (end)
        end(value);
    return CGX_MPI_SUCCESS;
}

static int call_Comm_create_keyval(cgx_mpi_attribute_end *end, int *keyval)
{
    return native_Comm_create_keyval(copy_nothing, end_attribute, keyval, (void *)end);
}

/* ---- handles ---- */

static uintptr_t handle_of(uintptr_t word)
{
    return (uintptr_t)(intptr_t)(HANDLE)(intptr_t)word;
}

static uintptr_t handle_at(const void *address)
{
    HANDLE native;

    memcpy(&native, address, sizeof native);
    return (uintptr_t)(intptr_t)native;
}

/* ---- the table ---- */

static void translate_ulfm(struct cgx_mpi *table, void *library)
{
    native_Comm_revoke = (__typeof__(native_Comm_revoke))dlsym(library, "PMPIX_Comm_revoke");
    native_Comm_is_revoked =
        (__typeof__(native_Comm_is_revoked))dlsym(library, "PMPIX_Comm_is_revoked");
    if (native_Comm_revoke && native_Comm_is_revoked) {
        table->Comm_revoke = call_Comm_revoke;
        table->Comm_is_revoked = call_Comm_is_revoked;
    }
}

static const char *translate_table(struct cgx_mpi *table, void *library)
{
    const char *missing = NULL;

#define NATIVE_FUNCTION(name)                                                 \
    native_##name = (__typeof__(native_##name))dlsym(library, "PMPI_" #name); \
    if (!native_##name)                                                       \
        missing = "PMPI_" #name;
#define FUNCTION(name)    \
    NATIVE_FUNCTION(name) \
    table->name = call_##name;
    CGX_ABI_FUNCTIONS(FUNCTION)
    native_Allreduce_c = (__typeof__(native_Allreduce_c))dlsym(library, "PMPI_Allreduce_c");
    table->Allreduce_c = native_Allreduce_c ? call_Allreduce_c : NULL;
#undef FUNCTION
#undef NATIVE_FUNCTION
    table->handle = handle_of;
    table->handle_at = handle_at;
    table->request_bytes = sizeof(HANDLE);
    table->status_bytes = STATUS_BYTES;
    table->status_error = STATUS_ERROR;
    table->GPU_query_support =
        (__typeof__(table->GPU_query_support))dlsym(library, "MPIX_GPU_query_support");
    table->Query_cuda_support =
        (__typeof__(table->Query_cuda_support))dlsym(library, "MPIX_Query_cuda_support");
    translate_ulfm(table, library);
    return missing;
}
