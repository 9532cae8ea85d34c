/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls in an ABI that the library does not know reach the MPI library word for word. This program,
 * with the library preloaded, is both that MPI library, of MPI-3 and with pointers as handles (link
 * it with -rdynamic), and its caller. */

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "lib/tap.h"

#define ENTRY(name) __asm__("PMPI_" #name) __attribute__((visibility("default")))

/* The words of the last call, and how many it had. */
static const void *seen[6];
static long seen_count;

/* Objects of the MPI library; their addresses need more than 32 bits. */
static char objects[6];
#define HANDLE(n) ((void *)&objects[n])

typedef void op_function(void *in, void *inout, int *length, void **datatype);
typedef void op_function_c(void *in, void *inout, long long *length, void **datatype);

int get_library_version(char *text, int *length) ENTRY(Get_library_version);
int get_library_version(char *text, int *length)
{
    strcpy(text, "An MPI of pointers 1.0");
    *length = (int)strlen(text);
    return 0;
}

int allreduce(const void *send, void *receive, int count, void *datatype, void *op, void *comm)
    ENTRY(Allreduce);
int allreduce(const void *send, void *receive, int count, void *datatype, void *op, void *comm)
{
    const void *words[] = {send, receive, datatype, op, comm};

    memcpy(seen, words, sizeof words);
    seen_count = count;
    return 17;
}

static op_function *created;

int op_create(op_function *function, int commute, void **op) ENTRY(Op_create);
int op_create(op_function *function, int commute, void **op)
{
    created = function;
    seen_count = commute;
    *op = HANDLE(4);
    return 0;
}

int op_free(void **op) ENTRY(Op_free);
int op_free(void **op)
{
    seen[0] = *op;
    *op = NULL;
    return 0;
}

int type_free(void **datatype) ENTRY(Type_free);
int type_free(void **datatype)
{
    seen[0] = *datatype;
    *datatype = NULL;
    return 0;
}

int abort_all(void *comm, int code) ENTRY(Abort);
int abort_all(void *comm, int code)
{
    seen[0] = comm;
    seen_count = code;
    return 18;
}

/* What the program would call, had it been linked with an MPI library. */
static void *exported(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    if (function == NULL)
        bail_out("%s is not exported; is the library preloaded?", name);
    return function;
}

static bool arrived(const char *send, char *receive, long count)
{
    const void *words[] = {send, receive, HANDLE(1), HANDLE(2), HANDLE(3)};

    return memcmp(seen, words, sizeof words) == 0 && seen_count == count;
}

static void test_allreduce(void)
{
    int (*mpi_allreduce)(const void *, void *, int, void *, void *, void *) =
        (__typeof__(mpi_allreduce))exported("MPI_Allreduce");
    int (*mpi_allreduce_c)(const void *, void *, long long, void *, void *, void *) =
        (__typeof__(mpi_allreduce_c))exported("MPI_Allreduce_c");
    char send[4], receive[4];

    ok(mpi_allreduce(send, receive, 4, HANDLE(1), HANDLE(2), HANDLE(3)) == 17,
       "MPI_Allreduce returns what the MPI library returns");
    ok(arrived(send, receive, 4), "MPI_Allreduce arrives word for word");
    mpi_allreduce(send, receive, -5, HANDLE(1), HANDLE(2), HANDLE(3));
    ok(arrived(send, receive, -5), "so does a wrong count");
    ok(mpi_allreduce_c(send, receive, 6, HANDLE(1), HANDLE(2), HANDLE(3)) == 17 &&
           arrived(send, receive, 6),
       "MPI_Allreduce_c is served by MPI_Allreduce where there is no other");
    ok(mpi_allreduce_c(send, receive, (1ll << 32) + 5, HANDLE(1), HANDLE(2), HANDLE(3)) != 0 &&
           arrived(send, receive, 6),
       "but not with a count that this cannot take");
}

static void sum(void *in, void *inout, int *length, void **datatype)
{
    (void)in, (void)inout, (void)length, (void)datatype;
}

static void sum_c(void *in, void *inout, long long *length, void **datatype)
{
    seen[0] = in;
    seen[1] = inout;
    seen[2] = *datatype;
    seen_count = *length;
}

static void test_ops(void)
{
    int (*mpi_op_create)(op_function *, int, void **) =
        (__typeof__(mpi_op_create))exported("MPI_Op_create");
    int (*mpi_op_create_c)(op_function_c *, int, void **) =
        (__typeof__(mpi_op_create_c))exported("MPI_Op_create_c");
    int (*mpi_op_free)(void **) = (__typeof__(mpi_op_free))exported("MPI_Op_free");
    int (*mpi_type_free)(void **) = (__typeof__(mpi_type_free))exported("MPI_Type_free");
    void *op = NULL, *datatype = HANDLE(5);
    char in, inout;
    int length = 9;

    ok(mpi_op_create(sum, 1, &op) == 0 && created == sum && seen_count == 1 && op == HANDLE(4),
       "MPI_Op_create arrives word for word");
    ok(mpi_op_create_c(sum_c, 1, &op) == 0 && op == HANDLE(4),
       "MPI_Op_create_c is served by MPI_Op_create where there is no other");
    created(&in, &inout, &length, &datatype);
    ok(seen[0] == &in && seen[1] == &inout && seen[2] == HANDLE(5) && seen_count == 9,
       "and its function is called as it expects");
    ok(mpi_op_free(&op) == 0 && seen[0] == HANDLE(4) && op == NULL, "MPI_Op_free arrives");
    ok(mpi_type_free(&datatype) == 0 && seen[0] == HANDLE(5) && datatype == NULL,
       "MPI_Type_free arrives");
}

static void test_abort(void)
{
    int (*mpi_abort)(void *, int) = (__typeof__(mpi_abort))exported("MPI_Abort");

    ok(mpi_abort(HANDLE(6), 7) == 18 && seen[0] == HANDLE(6) && seen_count == 7,
       "MPI_Abort arrives word for word");
}

int main(void)
{
    test_allreduce();
    test_ops();
    test_abort();
    return done_testing();
}
