/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPICH's ABI (its mpi.h of 3.1 and later). Handles are integers. The two upper bits are 0 for a
 * null handle, 1 for a predefined object and more for others; the next four are the kind of object.
 */
#define HANDLE int
#define STATUS_BYTES 20
#define STATUS_ERROR 16
#define STATUS_IGNORE ((void *)1)
#include "mpi/abi_body.h"

static bool looks_like_type(cgx_mpi_datatype datatype)
{
    unsigned word = (unsigned)(uintptr_t)datatype;

    return (word & 0x3C000000u) == 0x0C000000u && word >= 0x40000000u;
}

static bool looks_created(cgx_mpi_op op)
{
    return ((unsigned)(uintptr_t)op & 0xBC000000u) == 0x98000000u;
}

#define COMM(word) WORD(cgx_mpi_comm, word)
#define TYPE(word) WORD(cgx_mpi_datatype, word)
#define OP(word) WORD(cgx_mpi_op, word)

static cgx_mpi_comm comm_f2c(int comm)
{
    return COMM(comm);
}

/* The version tells whether the MPI has half types. MPI_Type_get_name cannot tell: older versions
 * abort if asked for the name of a predefined handle that they do not have. */
static void set_types(struct cgx_mpi *table)
{
    bool recent = table->version[0] >= 5;

    table->DATATYPE_NULL = TYPE(0x0c000000);
    table->BYTE = TYPE(0x4c00010d);
    table->UINT32_T = TYPE(0x4c00043d);
    table->DOUBLE = TYPE(0x4c00080b);
    table->FLOAT = TYPE(0x4c00040a);
    table->REAL = TYPE(0x4c00041c);
    table->REAL4 = TYPE(0x4c000427);
    table->C_FLOAT16 = TYPE(0x4c000246);
    table->REAL2 = recent ? TYPE(0x4c000226) : table->DATATYPE_NULL;
    table->BFLOAT16 = recent ? TYPE(0x4c00024c) : table->DATATYPE_NULL;
}

const char *cgx_abi_mpich(struct cgx_mpi *table, void *library)
{
    const char *missing = translate_table(table, library);

    table->abi_name = "MPICH";
    table->COMM_NULL = COMM(0x04000000);
    table->COMM_WORLD = COMM(0x44000000);
    table->COMM_SELF = COMM(0x44000001);
    set_types(table);
    table->OP_NULL = OP(0x18000000);
    table->MIN = OP(0x58000002);
    table->SUM = OP(0x58000003);
    table->ERRORS_RETURN = WORD(cgx_mpi_errhandler, 0x54000001);
    table->IN_PLACE = (void *)(intptr_t)-1;
    table->communicators = 2048;
    table->THREAD_MULTIPLE = 3;
    table->ANY_SOURCE = -2;
    table->UNDEFINED = -32766;
    table->ERR_BUFFER = 1;
    table->ERR_COUNT = 2;
    table->ERR_TYPE = 3;
    table->ERR_OTHER = 15;
    table->ERR_NO_MEM = 34;
    table->ERR_IN_STATUS = 17;
    table->Comm_f2c = comm_f2c;
    table->looks_like_type = looks_like_type;
    table->looks_created = looks_created;
    return missing;
}
