/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Functions for MPI_Op_create_c stand in for ones for MPI_Op_create. */

#include <stddef.h>

#include "lib/tap.h"
#include "mpi/ops.h"

static struct {
    void *in, *inout;
    cgx_mpi_count count;
    int datatype;
    int function;
} seen;

#define NOTE(number)                                                                       \
    static void note_##number(void *in, void *inout, cgx_mpi_count *count, void *datatype) \
    {                                                                                      \
        seen.in = in;                                                                      \
        seen.inout = inout;                                                                \
        seen.count = *count;                                                               \
        seen.datatype = *(int *)datatype;                                                  \
        seen.function = number;                                                            \
    }
NOTE(1)
NOTE(2)

static bool arrives(cgx_mpi_user_function *caller, int function)
{
    int in, inout, count = 7;
    int datatype = 7;

    seen.function = 0;
    caller(&in, &inout, &count, &datatype);
    return seen.function == function && seen.in == &in && seen.inout == &inout && seen.count == 7 &&
           seen.datatype == 7;
}

static cgx_mpi_user_function_c *never_called(char *place)
{
    return (cgx_mpi_user_function_c *)(void *)place;
}

int main(void)
{
    cgx_mpi_user_function *one = cgx_op_from_large(note_1), *two = cgx_op_from_large(note_2);
    static char places[CGX_OP_LARGE_MAX];
    int other;
    int had = 2;

    ok(one != NULL && arrives(one, 1), "a call arrives with its arguments");
    ok(two != NULL && two != one && arrives(two, 2), "each function has its own");
    ok(cgx_op_from_large(note_1) == one, "and keeps it");
    for (other = 0; had < CGX_OP_LARGE_MAX && other < CGX_OP_LARGE_MAX - 1; other++)
        had += cgx_op_from_large(never_called(&places[other])) != NULL;
    ok(had == CGX_OP_LARGE_MAX, "there are as many as promised");
    ok(cgx_op_from_large(never_called(&places[other])) == NULL, "and no more");
    ok(cgx_op_from_large(note_2) == two, "those that were given stay");
    return done_testing();
}
