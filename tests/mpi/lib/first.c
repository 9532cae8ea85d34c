/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The first sums of a communicator are exact (CGX_FIRST_SUMS), and most tests are not about them.
 * With TESTS_FIRST_SUMS=N, which run-mpi sets beside CGX_WARMUP=0, a program's communicators have
 * had N sums before the first sum of the program that could be compressed. The linker puts these
 * functions in the place of MPI's (--wrap). */

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../lib/wrap.h"
#include "elements.h"

enum { LEAST = 1024, MOST_SUMS = 16 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int first_sums, keyval;

static void begin(void)
{
    const char *text = getenv("TESTS_FIRST_SUMS");

    first_sums = text ? atoi(text) : 0;
    if (first_sums > 0)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
}

static bool is_predefined(MPI_Op op)
{
    const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR};
    bool found = op == MPI_OP_NULL;

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        found = found || op == ops[i];
    return found;
}

/* Whether a call is one that the library counts. */
static bool counts(MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    int bytes = 0;

    if (count < LEAST || datatype == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL ||
        is_predefined(op))
        return false;
    for (enum element type = ELEMENT_FLOAT32; op == MPI_SUM && type <= ELEMENT_BFLOAT16; type++)
        if (datatype == element_datatype(type))
            return true;
    return op != MPI_SUM && PMPI_Type_size(datatype, &bytes) == MPI_SUCCESS && bytes == 2;
}

int __real_MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm);

/* Makes the first sums of COMM, of zeros, all different, if this call is the first that counts. */
static void prepare(MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    static const float zeros[LEAST + MOST_SUMS];
    float sums[LEAST + MOST_SUMS];
    void *value;
    int found = 0;

    pthread_once(&once, begin);
    if (first_sums == 0 || !counts(count, datatype, op, comm))
        return;
    PMPI_Comm_get_attr(comm, keyval, &value, &found);
    if (found)
        return;
    PMPI_Comm_set_attr(comm, keyval, &first_sums);
    for (int i = 0; i < first_sums; i++)
        __real_MPI_Allreduce(zeros, sums, LEAST + i, MPI_FLOAT, MPI_SUM, comm);
}

WRAPPED(int, MPI_Allreduce, const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
        MPI_Op op, MPI_Comm comm)
{
    prepare(count, datatype, op, comm);
    return __real_MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

#if MPI_VERSION >= 4
WRAPPED(int, MPI_Allreduce_c, const void *sendbuf, void *recvbuf, MPI_Count count,
        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    prepare(count, datatype, op, comm);
    return __real_MPI_Allreduce_c(sendbuf, recvbuf, count, datatype, op, comm);
}
#endif
