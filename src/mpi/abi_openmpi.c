/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Open MPI's ABI (4.1 and 5). Handles are pointers; predefined objects are the addresses of Open
 * MPI's own data. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <stdio.h>

#define STATUS_BYTES 24
#include "mpi/abi_pointers.h"

static cgx_mpi_datatype null_type;

static bool looks_like_type(cgx_mpi_datatype datatype)
{
    return datatype && datatype != null_type;
}

/* The predefined ops; some versions lack some. */
static const char *const op_names[] = {
    "ompi_mpi_op_null",   "ompi_mpi_op_sum",     "ompi_mpi_op_min",  "ompi_mpi_op_max",
    "ompi_mpi_op_prod",   "ompi_mpi_op_land",    "ompi_mpi_op_band", "ompi_mpi_op_lor",
    "ompi_mpi_op_bor",    "ompi_mpi_op_lxor",    "ompi_mpi_op_bxor", "ompi_mpi_op_maxloc",
    "ompi_mpi_op_minloc", "ompi_mpi_op_replace", "ompi_mpi_op_no_op"};
#define OPS (sizeof op_names / sizeof op_names[0])
static cgx_mpi_op ops[OPS];

static bool looks_created(cgx_mpi_op op)
{
    bool created = op != NULL;

    for (size_t i = 0; i < OPS; i++)
        created = created && op != ops[i];
    return created;
}

/* The address of a predefined object, or NULL. The linker may have copied the object into the
 * program; then everybody uses the copy, including the MPI library. */
static void *object_of(void *library, const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);

    return address ? address : dlsym(library, name);
}

/* The same; sets *MISSING to NAME if there is no such object. */
static void *find_object(void *library, const char *name, const char **missing)
{
    void *address = object_of(library, name);

    if (!address)
        *missing = name;
    return address;
}

static void find_types(struct cgx_mpi *table, void *library, const char **missing)
{
    null_type = find_object(library, "ompi_mpi_datatype_null", missing);
    table->DATATYPE_NULL = null_type;
    table->BYTE = find_object(library, "ompi_mpi_byte", missing);
    table->UINT32_T = find_object(library, "ompi_mpi_uint32_t", missing);
    table->DOUBLE = find_object(library, "ompi_mpi_double", missing);
    table->FLOAT = find_object(library, "ompi_mpi_float", missing);
    table->REAL = find_object(library, "ompi_mpi_real", missing);
    table->REAL4 = find_object(library, "ompi_mpi_real4", missing);
    table->REAL2 = find_object(library, "ompi_mpi_real2", missing);
    table->C_FLOAT16 = table->BFLOAT16 = null_type;
}

/* Finds what Fortran needs, which may be absent. MPI_IN_PLACE and MPI_BOTTOM are common blocks,
 * which the linker may have put into the program. From version 6 on mpi_f08 passes descriptors. */
static void find_fortran(struct cgx_mpi *table, void *library)
{
    __typeof__(table->fortran) found = {.INTEGER = object_of(library, "ompi_mpi_integer"),
                                        .IN_PLACE = object_of(library, "mpi_fortran_in_place_"),
                                        .BOTTOM = object_of(library, "mpi_fortran_bottom_")};
    int major;

    table->Comm_f2c = (__typeof__(table->Comm_f2c))dlsym(library, "PMPI_Comm_f2c");
    found.Type_f2c = (__typeof__(found.Type_f2c))dlsym(library, "PMPI_Type_f2c");
    found.Op_f2c = (__typeof__(found.Op_f2c))dlsym(library, "PMPI_Op_f2c");
    found.has_addresses_08 = sscanf(table->name, "Open MPI v%d", &major) == 1 && major < 6;
    if (found.INTEGER && found.IN_PLACE && found.BOTTOM && table->Comm_f2c && found.Type_f2c &&
        found.Op_f2c)
        table->fortran = found;
}

const char *cgx_abi_openmpi(struct cgx_mpi *table, void *library)
{
    const char *missing = translate_table(table, library);

    table->abi_name = "Open MPI";
    table->COMM_NULL = find_object(library, "ompi_mpi_comm_null", &missing);
    table->COMM_WORLD = find_object(library, "ompi_mpi_comm_world", &missing);
    table->COMM_SELF = find_object(library, "ompi_mpi_comm_self", &missing);
    find_types(table, library, &missing);
    for (size_t i = 0; i < OPS; i++)
        ops[i] = object_of(library, op_names[i]);
    table->OP_NULL = find_object(library, "ompi_mpi_op_null", &missing);
    table->SUM = find_object(library, "ompi_mpi_op_sum", &missing);
    table->MIN = find_object(library, "ompi_mpi_op_min", &missing);
    table->ERRORS_RETURN = find_object(library, "ompi_mpi_errors_return", &missing);
    set_constants(table);
    table->communicators = 65536;
    table->THREAD_MULTIPLE = 3;
    table->ERR_IN_STATUS = 18;
    table->FT = 12;
    table->looks_like_type = looks_like_type;
    table->looks_created = looks_created;
    find_fortran(table, library);
    return missing;
}
