/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/types.h"

#include <stdatomic.h>

const char *cgx_type_name(enum cgx_type_class type)
{
    static const char *const names[] = {"two bytes", "float32", "float16", "bfloat16", "two bytes"};

    return names[type];
}

/* Returns CLASS if DATATYPE has the size of its elements. The MPI's build may have given the type
 * another size, or the program (MPI_Abi_set_fortran_info), but only once: *KNOWN caches the size;
 * 0: not yet known. */
static enum cgx_type_class if_sized(cgx_mpi_datatype datatype, enum cgx_type_class class,
                                    atomic_int *known)
{
    int bytes = atomic_load_explicit(known, memory_order_relaxed);

    if (bytes == 0 && cgx_mpi()->Type_size(datatype, &bytes) == CGX_MPI_SUCCESS)
        atomic_store_explicit(known, bytes, memory_order_relaxed);
    return bytes == (int)cgx_dtype_size(cgx_type_dtype(class)) ? class : CGX_TYPE_OTHER;
}

enum cgx_type_class cgx_type_classify(cgx_mpi_datatype datatype)
{
    static atomic_int real, real4, real2, half, bfloat16;
    const struct cgx_mpi *mpi = cgx_mpi();

    if (datatype == mpi->FLOAT)
        return CGX_TYPE_FLOAT32;
    /* Types that the MPI lacks are DATATYPE_NULL in the table, so check this before them. */
    if (datatype == mpi->DATATYPE_NULL)
        return CGX_TYPE_OTHER;
    if (datatype == mpi->REAL)
        return if_sized(datatype, CGX_TYPE_FLOAT32, &real);
    if (datatype == mpi->REAL4)
        return if_sized(datatype, CGX_TYPE_FLOAT32, &real4);
    if (datatype == mpi->REAL2)
        return if_sized(datatype, CGX_TYPE_FLOAT16, &real2);
    if (datatype == mpi->C_FLOAT16)
        return if_sized(datatype, CGX_TYPE_FLOAT16, &half);
    return datatype == mpi->BFLOAT16 ? if_sized(datatype, CGX_TYPE_BFLOAT16, &bfloat16)
                                     : CGX_TYPE_OTHER;
}

bool cgx_type_has_two_bytes(cgx_mpi_datatype datatype)
{
    int size;

    return cgx_mpi()->looks_like_type(datatype) &&
           cgx_mpi()->Type_size(datatype, &size) == CGX_MPI_SUCCESS && size == 2;
}

bool cgx_type_is_dense(cgx_mpi_datatype datatype)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    cgx_mpi_aint bound, extent, true_bound, true_extent;

    return mpi->Type_get_extent(datatype, &bound, &extent) == CGX_MPI_SUCCESS &&
           mpi->Type_get_true_extent(datatype, &true_bound, &true_extent) == CGX_MPI_SUCCESS &&
           extent == 2 && true_extent == 2 && true_bound == 0;
}
