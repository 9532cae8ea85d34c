/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/fake_mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mpi/abi.h"
#include "mpi/table.h"

const char *fake_mpi_text = FAKE_MPICH;
int fake_mpi_standard = -1;

static int fake(const char *name, char *text, int *length)
{
    if (strcmp(name, "Get_library_version") != 0)
        return 1;
    /* Time for another thread to see a table that is not yet complete. */
    usleep(20000);
    *length = sprintf(text, "%s", fake_mpi_text);
    return CGX_MPI_SUCCESS;
}

#define DEFINE(name)                                                \
    int fake_##name(char *text, int *length) __asm__("PMPI_" #name) \
        __attribute__((visibility("default")));                     \
    int fake_##name(char *text, int *length)                        \
    {                                                               \
        return fake(#name, text, length);                           \
    }
CGX_ABI_FUNCTIONS(DEFINE)

int fake_Abi_get_version(int *major, int *minor) __asm__("PMPI_Abi_get_version")
    __attribute__((visibility("default")));
int fake_Abi_get_version(int *major, int *minor)
{
    *major = fake_mpi_standard;
    *minor = fake_mpi_standard < 0 ? -1 : 0;
    return CGX_MPI_SUCCESS;
}

/* Open MPI's predefined objects. */
#define OBJECT(name)                                         \
    extern char name __attribute__((visibility("default"))); \
    char name
OBJECT(ompi_mpi_comm_null);
OBJECT(ompi_mpi_comm_world);
OBJECT(ompi_mpi_comm_self);
OBJECT(ompi_mpi_datatype_null);
OBJECT(ompi_mpi_byte);
OBJECT(ompi_mpi_int);
OBJECT(ompi_mpi_uint32_t);
OBJECT(ompi_mpi_double);
OBJECT(ompi_mpi_float);
OBJECT(ompi_mpi_real);
OBJECT(ompi_mpi_real4);
OBJECT(ompi_mpi_real2);
OBJECT(ompi_mpi_op_null);
OBJECT(ompi_mpi_op_sum);
OBJECT(ompi_mpi_op_min);
OBJECT(ompi_mpi_op_max);
OBJECT(ompi_mpi_op_bor);
OBJECT(ompi_mpi_info_null);
OBJECT(ompi_mpi_errors_return);
OBJECT(ompi_request_null);
