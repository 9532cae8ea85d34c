/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library knows of its MPI, for one rank, linked with the library instead of preloaded:
 * handles and constants in src/mpi are those of mpi.h, and datatypes are classified. "constants":
 * only the former; "wide": where MPI says that types are twice as large as usual. */

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/tap.h"
#include "mpi/table.h"
#include "mpi/types.h"

/* ---- constants ---- */

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
    HANDLE(UINT32_T);
    HANDLE(DOUBLE);
    HANDLE(FLOAT);
    HANDLE(REAL);
    HANDLE(REAL4);
    HANDLE(OP_NULL);
    HANDLE(SUM);
    HANDLE(MIN);
    HANDLE(ERRORS_RETURN);
    HANDLE(IN_PLACE);
    HANDLE(BOTTOM);
}

/* Types that not every MPI has. */
static void test_handles_of_halves(const struct cgx_mpi *mpi)
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

/* ---- datatypes ---- */

/* As the library has handles. */
static cgx_mpi_datatype word(MPI_Datatype datatype)
{
    return (cgx_mpi_datatype)cgx_mpi()->handle((uintptr_t)datatype);
}

static bool is(MPI_Datatype datatype, enum cgx_type_class class)
{
    return cgx_type_classify(word(datatype)) == class;
}

/* Without Fortran a type of Fortran's may be MPI_DATATYPE_NULL. */
static enum cgx_type_class if_there(MPI_Datatype datatype)
{
    return datatype == MPI_DATATYPE_NULL ? CGX_TYPE_OTHER : CGX_TYPE_FLOAT32;
}

/* What is no handle; of pointers, only small numbers are known not to be. */
#ifdef MPI_ABI_VERSION
#define JUNK ((MPI_Datatype)7)
#else
#define JUNK ((MPI_Datatype)-1)
#endif

static void test_predefined(void)
{
    ok(is(MPI_FLOAT, CGX_TYPE_FLOAT32), "MPI_FLOAT is float32");
    ok(is(MPI_REAL, if_there(MPI_REAL)), "MPI_REAL is float32");
    ok(is(MPI_REAL4, if_there(MPI_REAL4)), "MPI_REAL4 is float32");
    ok(is(MPI_DOUBLE, CGX_TYPE_OTHER) && is(MPI_LONG_DOUBLE, CGX_TYPE_OTHER), "doubles are not");
    ok(is(MPI_INT, CGX_TYPE_OTHER) && is(MPI_SHORT, CGX_TYPE_OTHER), "integers are not");
    ok(is(MPI_COMPLEX, CGX_TYPE_OTHER) && is(MPI_C_FLOAT_COMPLEX, CGX_TYPE_OTHER),
       "complex numbers are not");
    ok(is(MPI_FLOAT_INT, CGX_TYPE_OTHER) && is(MPI_SHORT_INT, CGX_TYPE_OTHER), "pairs are not");
    ok(is(MPI_BYTE, CGX_TYPE_OTHER) && is(MPI_UINT16_T, CGX_TYPE_OTHER), "plain bytes are not");
    ok(is(MPI_DATATYPE_NULL, CGX_TYPE_OTHER), "MPI_DATATYPE_NULL is nothing");
#ifndef OPEN_MPI
    ok(is((MPI_Datatype)-1, CGX_TYPE_OTHER) && is((MPI_Datatype)0, CGX_TYPE_OTHER) &&
           is((MPI_Datatype)MPI_COMM_WORLD, CGX_TYPE_OTHER),
       "what is no datatype is nothing, and the MPI library is not asked");
#endif
}

#if defined OPEN_MPI
static void test_half(void)
{
    skip("16-bit types", "Open MPI has none");
}
#elif defined MPI_ABI_VERSION
static void test_half(void)
{
    ok(is(MPI_REAL2, CGX_TYPE_FLOAT16), "MPI_REAL2 is float16");
    skip("other 16-bit types", "the standard's ABI has none");
}
#else
static void test_half(void)
{
    bool recent = cgx_mpi()->version[0] >= 5;

    ok(is((MPI_Datatype)0x4c000246, CGX_TYPE_FLOAT16), "MPIX_C_FLOAT16 is float16");
    ok(is((MPI_Datatype)0x4c000226, recent ? CGX_TYPE_FLOAT16 : CGX_TYPE_OTHER),
       "MPI_REAL2 is float16 where it is a type");
    ok(is((MPI_Datatype)0x4c00024c, recent ? CGX_TYPE_BFLOAT16 : CGX_TYPE_OTHER),
       "MPIX_BFLOAT16 is bfloat16 where it is a type");
}
#endif

struct answers {
    bool two_bytes;
    bool dense;
};

/* Asks about a type that was just made, then frees it. */
static struct answers ask(MPI_Datatype made)
{
    struct answers answers;

    MPI_Type_commit(&made);
    answers.two_bytes = cgx_type_has_two_bytes(word(made));
    answers.dense = cgx_type_is_dense(word(made));
    MPI_Type_free(&made);
    return answers;
}

static bool is_dense(MPI_Datatype made)
{
    struct answers answers = ask(made);

    return answers.two_bytes && answers.dense;
}

static bool has_gaps(MPI_Datatype made)
{
    struct answers answers = ask(made);

    return answers.two_bytes && !answers.dense;
}

static bool is_neither(MPI_Datatype made)
{
    struct answers answers = ask(made);

    return !answers.two_bytes && !answers.dense;
}

static MPI_Datatype contiguous(int count, MPI_Datatype inner)
{
    MPI_Datatype made;

    MPI_Type_contiguous(count, inner, &made);
    return made;
}

static void test_derived(void)
{
    MPI_Datatype bytes = contiguous(2, MPI_BYTE), other;
    int displacements[2] = {0, 3};

    MPI_Type_dup(bytes, &other);
    ok(is_dense(contiguous(2, MPI_BYTE)) && is_dense(contiguous(1, MPI_SHORT)) && is_dense(other),
       "two bytes, a short and a copy have no gaps");
    ok(is_neither(contiguous(1, MPI_BYTE)) && is_neither(contiguous(4, MPI_BYTE)) &&
           is_neither(contiguous(2, MPI_SHORT)),
       "other sizes are told apart");
    MPI_Type_create_resized(bytes, 0, 4, &other);
    ok(has_gaps(other), "two bytes with a gap behind");
    MPI_Type_create_indexed_block(2, 1, displacements, MPI_BYTE, &other);
    ok(has_gaps(other), "two bytes with a gap between");
    MPI_Type_create_indexed_block(2, 1, displacements, MPI_BYTE, &other);
    MPI_Type_create_resized(other, 0, 2, &other);
    ok(has_gaps(other), "two bytes with a gap between, that their extent hides");
    MPI_Type_create_indexed_block(1, 2, displacements + 1, MPI_BYTE, &other);
    MPI_Type_create_resized(other, 0, 2, &other);
    ok(has_gaps(other), "two bytes that begin elsewhere");
    ok(cgx_type_has_two_bytes(word(MPI_SHORT)) && cgx_type_is_dense(word(MPI_SHORT)) &&
           !cgx_type_has_two_bytes(word(MPI_FLOAT)),
       "predefined types have their size too");
    ok(is(bytes, CGX_TYPE_OTHER), "no derived type is one that MPI_SUM takes");
#ifndef OPEN_MPI
    ok(!cgx_type_has_two_bytes(word(MPI_DATATYPE_NULL)) && !cgx_type_has_two_bytes(word(JUNK)) &&
           !cgx_type_has_two_bytes(word((MPI_Datatype)0)) &&
           !cgx_type_has_two_bytes(word((MPI_Datatype)MPI_COMM_WORLD)),
       "what is no datatype has no bytes, and the MPI library is not asked");
#endif
    MPI_Type_free(&bytes);
}

static int (*type_size)(cgx_mpi_datatype datatype, int *size);
static int questions;

static int twice(cgx_mpi_datatype datatype, int *size)
{
    int code = type_size(datatype, size);

    questions++;
    *size *= 2;
    return code;
}

/* A build of MPI may have another size for Fortran's types, as with -fdefault-real-8. */
static void test_wide(void)
{
    struct cgx_mpi *mpi = (struct cgx_mpi *)cgx_mpi();
    const cgx_mpi_datatype types[] = {mpi->REAL, mpi->REAL4, mpi->REAL2, mpi->C_FLOAT16,
                                      mpi->BFLOAT16};
    bool other = true;

    type_size = mpi->Type_size;
    mpi->Type_size = twice;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        other = other && cgx_type_classify(types[i]) == CGX_TYPE_OTHER;
    ok(other, "a type of another size is no float32 and no type of 16 bits");
    ok(is(MPI_FLOAT, CGX_TYPE_FLOAT32), "MPI_FLOAT is float32 all the same");
    questions = 0;
    for (int i = 0; i < 10; i++)
        cgx_type_classify(mpi->REAL);
    ok(questions == 0, "the size is asked for once");
}

int main(int argc, char **argv)
{
    const struct cgx_mpi *mpi = cgx_mpi_find((const void *)main);
    const char *what = argc > 1 ? argv[1] : "";

    MPI_Init(&argc, &argv);
    if (strcmp(what, "wide") == 0) {
        test_wide();
        MPI_Finalize();
        return done_testing();
    }
    ok(mpi->abi == CGX_MPI_ABI_KNOWN, "the MPI is known: %s", mpi->name);
    test_handles(mpi);
    test_handles_of_halves(mpi);
    test_numbers(mpi);
    test_predicates(mpi);
    test_made(mpi);
    if (strcmp(what, "constants") != 0) {
        test_predefined();
        test_half();
        test_derived();
    }
    MPI_Finalize();
    return done_testing();
}
