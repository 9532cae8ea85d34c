/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which datatypes hold elements that can be compressed. */
#ifndef CGX_PMPI_TYPES_H
#define CGX_PMPI_TYPES_H

#include <mpi.h>

enum cgx_type_class {
    CGX_TYPE_OTHER,
    CGX_TYPE_FLOAT32,
    CGX_TYPE_FLOAT16,
    CGX_TYPE_BFLOAT16,
    CGX_TYPE_OPAQUE16, /* two bytes whose meaning only a user's op knows, as Horovod's float16 */
};

/* The same on all ranks that use matching types. Predefined types, MPI_DATATYPE_NULL and what is no
 * handle of a datatype are told by comparisons; derived types, of which only a user's op can sum
 * any, by up to four calls of the MPI library (20 ns). A freed type makes these raise MPI_ERR_TYPE.
 * No state; thread-safe; after cgx_mpi_find with an MPI of our ABI. */
enum cgx_type_class cgx_type_classify(MPI_Datatype datatype);

#endif
