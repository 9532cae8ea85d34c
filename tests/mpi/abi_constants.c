/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Checks that the handles and constants in src/mpi for the program's MPI are those of its mpi.h. */

#include <mpi.h>
#include <stdint.h>

#include "lib/tap.h"
#include "mpi/table.h"

#define HANDLE(name) \
    ok((intptr_t)mpi->name == (intptr_t)MPI_##name, #name ": %#jx", (intmax_t)(intptr_t)mpi->name)
#define NUMBER(name) ok(mpi->name == MPI_##name, #name ": %d", mpi->name)

static void test_handles(const struct cgx_mpi *mpi)
{
    HANDLE(COMM_WORLD);
    HANDLE(COMM_SELF);
    HANDLE(COMM_NULL);
    HANDLE(DATATYPE_NULL);
    HANDLE(BYTE);
    HANDLE(INT);
    HANDLE(UINT32_T);
    HANDLE(DOUBLE);
    HANDLE(FLOAT);
    HANDLE(REAL);
    HANDLE(REAL4);
    HANDLE(OP_NULL);
    HANDLE(SUM);
    HANDLE(MIN);
    HANDLE(BOR);
    HANDLE(ERRORS_RETURN);
    HANDLE(IN_PLACE);
    HANDLE(BOTTOM);
}

/* Types that not every MPI has. */
static void test_halves(const struct cgx_mpi *mpi)
{
#ifdef MPI_REAL2
    ok(mpi->REAL2 == mpi->DATATYPE_NULL || (intptr_t)mpi->REAL2 == (intptr_t)MPI_REAL2,
       "REAL2: %#jx", (intmax_t)(intptr_t)mpi->REAL2);
#endif
#ifdef MPIX_C_FLOAT16
    ok((intptr_t)mpi->C_FLOAT16 == (intptr_t)MPIX_C_FLOAT16, "C_FLOAT16: %#jx",
       (intmax_t)(intptr_t)mpi->C_FLOAT16);
#endif
#ifdef MPIX_BFLOAT16
    ok((intptr_t)mpi->BFLOAT16 == (intptr_t)MPIX_BFLOAT16, "BFLOAT16: %#jx",
       (intmax_t)(intptr_t)mpi->BFLOAT16);
#endif
}

static void test_numbers(const struct cgx_mpi *mpi)
{
    NUMBER(THREAD_MULTIPLE);
    NUMBER(ANY_SOURCE);
    NUMBER(UNDEFINED);
    NUMBER(ERR_BUFFER);
    NUMBER(ERR_COUNT);
    NUMBER(ERR_TYPE);
    NUMBER(ERR_OTHER);
    NUMBER(ERR_INTERN);
    NUMBER(ERR_NO_MEM);
    NUMBER(ERR_IN_STATUS);
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5
    ok(mpi->FT == MPI_FT, "FT is %d", MPI_FT);
    ok(mpi->Comm_revoke && mpi->Comm_is_revoked, "a communicator can be revoked");
#endif
    ok(mpi->request_bytes == sizeof(MPI_Request), "a request has %zu bytes", mpi->request_bytes);
    ok(mpi->status_bytes == sizeof(MPI_Status), "a status has %zu bytes", mpi->status_bytes);
    ok(mpi->status_error == offsetof(MPI_Status, MPI_ERROR), "its error is at %zu",
       mpi->status_error);
}

static void test_predicates(const struct cgx_mpi *mpi)
{
    ok(mpi->looks_like_type(mpi->FLOAT) && !mpi->looks_like_type(mpi->DATATYPE_NULL),
       "MPI_FLOAT may be a type, MPI_DATATYPE_NULL may not");
    ok(!mpi->looks_created(mpi->SUM) && !mpi->looks_created(mpi->OP_NULL),
       "MPI_SUM and MPI_OP_NULL were not made by the program");
}

static void add(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)length, (void)datatype;
}

static void test_made(const struct cgx_mpi *mpi)
{
    MPI_Datatype type;
    MPI_Op op;

    MPI_Type_contiguous(3, MPI_FLOAT, &type);
    MPI_Op_create(add, 1, &op);
    ok(mpi->looks_like_type((cgx_mpi_datatype)(intptr_t)type),
       "a type of the program's may be one");
    ok(mpi->looks_created((cgx_mpi_op)(intptr_t)op), "an op of the program's was made by it");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    const struct cgx_mpi *mpi = cgx_mpi_find((const void *)main);

    MPI_Init(&argc, &argv);
    ok(mpi->abi == CGX_MPI_ABI_KNOWN, "the MPI is known: %s", mpi->name);
    test_handles(mpi);
    test_halves(mpi);
    test_numbers(mpi);
    test_predicates(mpi);
    test_made(mpi);
    MPI_Finalize();
    return done_testing();
}
