/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which datatypes hold elements that can be compressed. */
#ifndef CGX_MPI_TYPES_H
#define CGX_MPI_TYPES_H

#include <stdbool.h>

#include "codec/format.h"
#include "mpi/table.h"

enum cgx_type_class {
    CGX_TYPE_OTHER,
    CGX_TYPE_FLOAT32,
    CGX_TYPE_FLOAT16,
    CGX_TYPE_BFLOAT16,
    CGX_TYPE_OPAQUE16, /* two bytes whose meaning only a user's op knows, as Horovod's float16 */
};

static inline enum cgx_type_class cgx_type_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT32   ? CGX_TYPE_FLOAT32
           : dtype == CGX_FLOAT16 ? CGX_TYPE_FLOAT16
                                  : CGX_TYPE_BFLOAT16;
}

/* The other way round; two bytes pass for float16. */
static inline enum cgx_dtype cgx_type_dtype(enum cgx_type_class type)
{
    return type == CGX_TYPE_FLOAT32    ? CGX_FLOAT32
           : type == CGX_TYPE_BFLOAT16 ? CGX_BFLOAT16
                                       : CGX_FLOAT16;
}

/* "float32", ...; what has no such name is "two bytes". */
const char *cgx_type_name(enum cgx_type_class type);

/* No state; thread-safe; after cgx_mpi_find with an MPI of our ABI. */

/* Of a predefined type, by comparisons; CGX_TYPE_OTHER for derived ones, which MPI_SUM does not
 * take. The same on all ranks that use matching types. */
enum cgx_type_class cgx_type_classify(cgx_mpi_datatype datatype);

/* Whether an element has two bytes: follows from the type signature, and so is the same on all
 * ranks that use matching types, however each of them made its own. A freed type raises
 * MPI_ERR_TYPE; what is no handle of a datatype has not. */
bool cgx_type_has_two_bytes(cgx_mpi_datatype datatype);

/* Whether DATATYPE was made as two of a predefined type in a row. Another rank may have made a
 * matching type in another way. */
bool cgx_type_is_byte_pair(cgx_mpi_datatype datatype);

#endif
