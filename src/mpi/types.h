/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which datatypes have elements that can be compressed. */
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
    CGX_TYPE_OPAQUE16, /* two bytes that only a user's op understands, such as Horovod's float16 */
};

static inline enum cgx_type_class cgx_type_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT32   ? CGX_TYPE_FLOAT32
           : dtype == CGX_FLOAT16 ? CGX_TYPE_FLOAT16
                                  : CGX_TYPE_BFLOAT16;
}

/* The element type of TYPE; two opaque bytes count as float16. */
static inline enum cgx_dtype cgx_type_dtype(enum cgx_type_class type)
{
    return type == CGX_TYPE_FLOAT32    ? CGX_FLOAT32
           : type == CGX_TYPE_BFLOAT16 ? CGX_BFLOAT16
                                       : CGX_FLOAT16;
}

/* "float32", ...; "two bytes" for types without such a name. */
const char *cgx_type_name(enum cgx_type_class type);

/* Stateless and thread-safe; to be called after cgx_mpi_find has found a known ABI. */

/* Compares with predefined types; CGX_TYPE_OTHER for derived types, which MPI_SUM does not accept,
 * and for predefined types whose size is not that of their class. Before MPI_Init MPI may abort.
 * The same on all ranks that use matching types. */
enum cgx_type_class cgx_type_classify(cgx_mpi_datatype datatype);

/* Whether an element has two bytes. This follows from the type signature, so it is the same on all
 * ranks with matching types, however each rank made its own. A freed type raises MPI_ERR_TYPE;
 * false for a handle that is no datatype. */
bool cgx_type_has_two_bytes(cgx_mpi_datatype datatype);

/* Whether elements of DATATYPE, of two bytes, lie one behind the other. Another rank may have made
 * a matching type with gaps. */
bool cgx_type_is_dense(cgx_mpi_datatype datatype);

#endif
