/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/types.h"

#include <stdint.h>

#include "mpi/table.h"

/* MPICH's handles, by value: the mpi.h at hand may be older than the MPI that runs. */
#define MPICH_C_FLOAT16 ((MPI_Datatype)(uintptr_t)0x4c000246)
#define MPICH_REAL2 ((MPI_Datatype)(uintptr_t)0x4c000226)
#define MPICH_BFLOAT16 ((MPI_Datatype)(uintptr_t)0x4c00024c)

/* The version decides, not MPI_Type_get_name: older ones abort when asked for the name of a
 * predefined handle that they do not have. */
static enum cgx_type_class classify_mpich5(MPI_Datatype datatype)
{
    if (datatype != MPICH_REAL2 && datatype != MPICH_BFLOAT16)
        return CGX_TYPE_OTHER;
    if (cgx_mpi()->version[0] < 5)
        return CGX_TYPE_OTHER;
    return datatype == MPICH_REAL2 ? CGX_TYPE_FLOAT16 : CGX_TYPE_BFLOAT16;
}

static bool is_named(const struct cgx_mpi *mpi, MPI_Datatype datatype)
{
    int integers, addresses, datatypes, combiner;

    return mpi->Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner) ==
               MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

enum cgx_type_class cgx_type_classify(MPI_Datatype datatype)
{
    if (datatype == MPI_FLOAT)
        return CGX_TYPE_FLOAT32;
    /* First, since an MPI without Fortran defines MPI_REAL so. */
    if (datatype == MPI_DATATYPE_NULL)
        return CGX_TYPE_OTHER;
    if (datatype == MPI_REAL || datatype == MPI_REAL4)
        return CGX_TYPE_FLOAT32;
    if (datatype == MPICH_C_FLOAT16)
        return CGX_TYPE_FLOAT16;
    return classify_mpich5(datatype);
}

bool cgx_type_has_two_bytes(MPI_Datatype datatype)
{
    int size;

    return CGX_MPI_LOOKS_LIKE_TYPE(datatype) &&
           cgx_mpi()->Type_size(datatype, &size) == MPI_SUCCESS && size == 2;
}

bool cgx_type_is_byte_pair(MPI_Datatype datatype)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int integers, addresses, datatypes, combiner, count;
    MPI_Aint no_address;
    MPI_Datatype inner;
    bool predefined;

    if (!cgx_type_has_two_bytes(datatype) ||
        mpi->Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner) !=
            MPI_SUCCESS ||
        combiner != MPI_COMBINER_CONTIGUOUS)
        return false;
    if (mpi->Type_get_contents(datatype, 1, 0, 1, &count, &no_address, &inner) != MPI_SUCCESS)
        return false;
    /* A derived inner type is a new reference, which is ours to free. */
    predefined = is_named(mpi, inner);
    if (!predefined)
        mpi->Type_free(&inner);
    return predefined && count == 2;
}
