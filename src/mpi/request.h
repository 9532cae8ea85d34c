/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An intercepted all-reduce, as the program asks for it. */
#ifndef CGX_MPI_REQUEST_H
#define CGX_MPI_REQUEST_H

#include "cuda/memory.h"
#include "mpi/types.h"

struct cgx_request {
    const void *sendbuf;
    void *recvbuf;
    cgx_mpi_count count;
    cgx_mpi_datatype datatype;
    cgx_mpi_op op;
    cgx_mpi_comm comm;
    bool large;                       /* to MPI_Allreduce_c */
    bool in_place;                    /* sendbuf is MPI_IN_PLACE */
    struct cgx_pointer send, receive; /* where the buffers are; equal if in place */
    enum cgx_type_class type;         /* of the elements */
};

/* The buffer of REQUEST's input elements, ... */
static inline const void *cgx_request_input(const struct cgx_request *request)
{
    return request->in_place ? request->recvbuf : request->sendbuf;
}

/* ... and the bytes of each of its buffers, if its type can be compressed. */
static inline size_t cgx_request_bytes(const struct cgx_request *request)
{
    return (size_t)request->count * cgx_dtype_size(cgx_type_dtype(request->type));
}

#endif
