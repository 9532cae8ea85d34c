/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/op_large.h"

#include <pthread.h>
#include <stddef.h>

static cgx_mpi_user_function_c *functions[CGX_OP_LARGE_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* An op's function is told nothing but its arguments: each large one needs a small one of its own.
 * Their numbers have two octal digits. */
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define COLUMNS(X, row) \
    X(0##row##0)        \
    X(0##row##1) X(0##row##2) X(0##row##3) X(0##row##4) X(0##row##5) X(0##row##6) X(0##row##7)

#define DEFINE(number)                                                           \
    static void call_##number(void *in, void *inout, int *count, void *datatype) \
    {                                                                            \
        cgx_mpi_count large = *count;                                            \
                                                                                 \
        functions[number](in, inout, &large, datatype);                          \
    }
#define DEFINE_ROW(row) COLUMNS(DEFINE, row)
ROWS(DEFINE_ROW)

#define NAME(number) call_##number,
#define NAME_ROW(row) COLUMNS(NAME, row)
static cgx_mpi_user_function *const callers[CGX_OP_LARGE_MAX] = {ROWS(NAME_ROW)};

cgx_mpi_user_function *cgx_op_from_large(cgx_mpi_user_function_c *function)
{
    cgx_mpi_user_function *caller = NULL;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CGX_OP_LARGE_MAX && !caller; i++) {
        if (!functions[i])
            functions[i] = function;
        if (functions[i] == function)
            caller = callers[i];
    }
    pthread_mutex_unlock(&mutex);
    return caller;
}
