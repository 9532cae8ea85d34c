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

static void test_abort(void)
{
    int (*mpi_abort)(void *, int) = (__typeof__(mpi_abort))exported("MPI_Abort");

    ok(mpi_abort(HANDLE(6), 7) == 18 && seen[0] == HANDLE(6) && seen_count == 7,
       "MPI_Abort arrives word for word");
}

int main(void)
{
    test_allreduce();
    test_abort();
    return done_testing();
}
