/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The standard ABI (MPI 5.0, chapter 20 and appendix A). Handles are pointers to incomplete types;
 * handles of predefined objects are integers below 1024, others are at least PREDEFINED. */
#define STATUS_BYTES 32
#include "mpi/abi_pointers.h"

#define PREDEFINED 0x1000

static bool looks_like_type(cgx_mpi_datatype datatype)
{
    uintptr_t word = (uintptr_t)datatype;

    return (word > 0x200 && word < 0x400) || word >= PREDEFINED;
}

static bool looks_created(cgx_mpi_op op)
{
    return (uintptr_t)op >= PREDEFINED;
}

#define COMM(word) WORD(cgx_mpi_comm, word)
#define TYPE(word) WORD(cgx_mpi_datatype, word)
#define OP(word) WORD(cgx_mpi_op, word)

const char *cgx_abi_standard(struct cgx_mpi *table, void *library)
{
    const char *missing = translate_table(table, library);

    table->abi_name = "the MPI standard";
    table->COMM_NULL = COMM(0x100);
    table->COMM_WORLD = COMM(0x101);
    table->COMM_SELF = COMM(0x102);
    table->DATATYPE_NULL = TYPE(0x200);
    table->BYTE = TYPE(0x247);
    table->UINT32_T = TYPE(0x251);
    table->DOUBLE = TYPE(0x214);
    table->FLOAT = TYPE(0x210);
    table->REAL = TYPE(0x21a);
    table->REAL4 = TYPE(0x2d2);
    table->REAL2 = TYPE(0x2ca);
    table->C_FLOAT16 = table->BFLOAT16 = table->DATATYPE_NULL;
    table->OP_NULL = OP(0x20);
    table->SUM = OP(0x21);
    table->MIN = OP(0x22);
    table->ERRORS_RETURN = WORD(cgx_mpi_errhandler, 0x143);
    set_constants(table);
    table->Comm_f2c = (__typeof__(table->Comm_f2c))dlsym(library, "PMPI_Comm_fromint");
    table->communicators = 2048;
    table->THREAD_MULTIPLE = 4096;
    table->ERR_IN_STATUS = 19;
    table->looks_like_type = looks_like_type;
    table->looks_created = looks_created;
    return missing;
}
