/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The first sums of a communicator are exact (CGX_FIRST_SUMS), and most tests are not about them.
 * With TESTS_FIRST_SUMS=N, which run-mpi sets beside CGX_WARMUP=0, a program's communicators have
 * had N sums before the first sum of the program that could be compressed. The linker puts these
 * functions in the place of MPI's (--wrap). */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../../lib/tap.h"
#include "sums.h"

enum { LEAST = 1024, MOST_SUMS = 16 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int first_sums;

static void begin(void)
{
    const char *text = getenv("TESTS_FIRST_SUMS");

    first_sums = text ? atoi(text) : 0;
}

/* Communicators that have had their first sums have an attribute. A key is of one MPI session, or
 * of MPI_COMM_WORLD's time: where no attribute is left the next one gets another key. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval;
static atomic_int attributes;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    atomic_fetch_sub(&attributes, 1);
    return MPI_SUCCESS;
}

/* Whether COMM is new; it is not from now on. */
static bool is_new(MPI_Comm comm)
{
    void *value;
    int key, found = 0;

    pthread_mutex_lock(&lock);
    if (atomic_fetch_add(&attributes, 1) == 0)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    key = keyval;
    pthread_mutex_unlock(&lock);
    PMPI_Comm_get_attr(comm, key, &value, &found);
    if (found)
        atomic_fetch_sub(&attributes, 1);
    else
        PMPI_Comm_set_attr(comm, key, &first_sums);
    return !found;
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

    pthread_once(&once, begin);
    if (first_sums == 0 || !counts(count, datatype, op, comm) || !is_new(comm))
        return;
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
