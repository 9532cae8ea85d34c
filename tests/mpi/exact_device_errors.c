/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Errors in exact calls on device buffers: MPI reports the same as for host buffers, or the
 * library reports an error, and the next call is right.
 *   exact_device_errors arguments   wrong arguments
 *   exact_device_errors failures    of the driver and of memory; software driver only
 *   exact_device_errors memory      what is kept between calls; software driver only
 *   exact_device_errors reset       a context that is destroyed; software driver only
 *   exact_device_errors order       work that is queued when the call begins */

#define _GNU_SOURCE /* dladdr, syscall */

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

enum { COUNT = 1000 };
static float input[COUNT], exact[COUNT], result[COUNT]; /* EXACT: the sum of INPUT */

/* ---- memory that runs out ---- */

static bool memory_is_out;

/* In the place of the C library's, for all; mmap itself would not do, which UCX patches. */
int mprotect(void *at, size_t bytes, int access)
{
    Dl_info caller;

    if (memory_is_out && dladdr(__builtin_return_address(0), &caller) != 0 &&
        strstr(caller.dli_fname, "libcgxpmpi") != NULL) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_mprotect, at, bytes, access);
}

/* ---- calls ---- */

static int class_of(int code)
{
    int class;

    PMPI_Error_class(code, &class);
    return class;
}

/* A sum of COUNT floats; in place: SEND is MPI_IN_PLACE. */
static int reduce(const void *send, void *receive)
{
    return MPI_Allreduce(send, receive, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* One that is right. */
static bool is_right(void)
{
    void *send = device_clone(input, sizeof input), *receive = device_alloc(sizeof result);
    bool right = reduce(send, receive) == MPI_SUCCESS;

    device_download(result, receive, sizeof result);
    device_free(send);
    device_free(receive);
    return right && memcmp(result, exact, sizeof result) == 0;
}

/* ---- wrong arguments ---- */

/* MPI says the same of host and of device buffers. */
static void test_refused(const char *name, void *send, void *receive, int count,
                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    int host = PMPI_Allreduce(input, result, count, datatype, op, comm);
    int device = MPI_Allreduce(send, receive, count, datatype, op, comm);

    check(class_of(host) == class_of(device), "%s: as with host buffers", name);
}

/* Open MPI follows NULL, of host buffers too. */
#ifdef OPEN_MPI
#define FINDS_NULL false
#else
#define FINDS_NULL true
#endif
/* MPICH 5.0 asserts that there is a datatype, in the library of the standard's ABI too. */
#if defined MPI_ABI_VERSION || (defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 50000000)
#define FINDS_NO_TYPE false
#else
#define FINDS_NO_TYPE true
#endif

/* Buffers that MPI finds wrong before it looks at the rest. */
static void test_refused_buffers(void *send, void *receive)
{
    const struct {
        const char *name;
        const void *send;
        void *receive;
    } cases[] = {{"one buffer for both", send, send},
                 {"nowhere to receive", send, NULL},
                 {"nothing to send", NULL, receive},
                 {"receiving in place", send, MPI_IN_PLACE}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool found = FINDS_NULL || (cases[i].send && cases[i].receive);

        if (check_has(found, cases[i].name, "Open MPI crashes on NULL, of host buffers too"))
            check(class_of(reduce(cases[i].send, cases[i].receive)) == MPI_ERR_BUFFER,
                  "%s is an error", cases[i].name);
    }
}

/* More elements than there are. */
static void test_short(char *send, char *receive)
{
    size_t ahead = device_is_soft() ? 8 : 2048; /* a real driver may round sizes up */
    int code = MPI_Allreduce(send, receive, COUNT + 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);

    check(class_of(code) == MPI_ERR_BUFFER, "a send buffer that is too short is an error");
    code = MPI_Allreduce(input, receive + ahead, COUNT - 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(class_of(code) == MPI_ERR_BUFFER, "a receive buffer that is too short is an error");
#if MPI_VERSION >= 4
    code = MPI_Allreduce_c(MPI_IN_PLACE, receive, (MPI_Count)1 << 62, MPI_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD);
    check(class_of(code) == MPI_ERR_BUFFER, "more bytes than a pointer reaches are an error");
#endif
}

static void first(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)count, (void)datatype;
}

static void test_bottom(void *receive)
{
    MPI_Aint address = (MPI_Aint)receive;
    const int one = 1;
    MPI_Datatype absolute;
    MPI_Op op;
    int code;

    PMPI_Type_create_hindexed(1, &one, &address, MPI_FLOAT, &absolute);
    PMPI_Type_commit(&absolute);
    PMPI_Op_create(first, 1, &op);
    code = MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, op, MPI_COMM_WORLD);
    check(class_of(code) == MPI_ERR_BUFFER, "MPI_BOTTOM is refused");
    PMPI_Op_free(&op);
    PMPI_Type_free(&absolute);
}

static void test_arguments(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    void *send = device_clone(input, sizeof input), *receive = device_clone(input, sizeof input);

    test_refused("no elements", send, receive, 0, MPI_FLOAT, MPI_SUM, world);
    if (check_has(FINDS_NO_TYPE, "no datatype", "MPICH 5 aborts on it, of host buffers too"))
        test_refused("no datatype", send, receive, COUNT, MPI_DATATYPE_NULL, MPI_SUM, world);
    test_refused("no op", send, receive, COUNT, MPI_FLOAT, MPI_OP_NULL, world);
    test_refused("an op that floats have not", send, receive, COUNT, MPI_FLOAT, MPI_BAND, world);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_refused("no communicator", send, receive, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL);
    test_refused_buffers(send, receive);
    test_short(send, receive);
    test_bottom(receive);
    device_download(result, receive, sizeof result);
    check(memcmp(result, input, sizeof result) == 0, "no error wrote anything");
    check(is_right(), "the next call is right");
    device_free(send);
    device_free(receive);
}

/* ---- failures ---- */

/* The NTH copy fails, in place, on all ranks. */
static void test_copy(unsigned nth, const char *name)
{
    unsigned long long live = device_count().live;
    void *buffer = device_clone(input, sizeof input);
    int code;

    device_fail(SOFTCUDA_COPY, nth, false);
    code = reduce(MPI_IN_PLACE, buffer);
    device_fail(SOFTCUDA_COPY, 0, false);
    check(class_of(code) == MPI_ERR_OTHER, "%s: an error", name);
    device_download(result, buffer, sizeof result);
    check(memcmp(result, input, sizeof result) == 0, "%s: nothing is written", name);
    device_free(buffer);
    check(is_right(), "%s: the next call is right", name);
    check(device_count().live == live, "%s: nothing is lost", name);
}

/* The last rank alone cannot store its result: the others have theirs. */
static void test_store_of_one(void)
{
    void *buffer = device_clone(input, sizeof input);
    bool last = check_rank == check_size - 1;
    int code;

    if (last)
        device_fail(SOFTCUDA_COPY, 2, false);
    code = reduce(MPI_IN_PLACE, buffer);
    device_fail(SOFTCUDA_COPY, 0, false);
    device_download(result, buffer, sizeof result);
    check(last ? code != MPI_SUCCESS
               : code == MPI_SUCCESS && memcmp(result, exact, sizeof result) == 0,
          "one rank cannot store its result: it gets an error, others the sum");
    device_free(buffer);
}

static void test_memory(size_t bytes)
{
    char *buffer = device_alloc(bytes);
    int code;

    memory_is_out = true;
    code = MPI_Allreduce(MPI_IN_PLACE, buffer, (int)bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
    memory_is_out = false;
    check(class_of(code) == MPI_ERR_NO_MEM, "no host memory: MPI_ERR_NO_MEM");
    device_free(buffer);
    check(is_right(), "no host memory: the next call is right");
}

/* Before anything is pinned. */
static void test_unpinned(void)
{
    void *send = device_clone(input, sizeof input), *receive = device_alloc(sizeof result);
    unsigned long long live = device_count().live;
    int code;

    device_fail(SOFTCUDA_ALLOC, 1, true);
    code = reduce(send, receive);
    device_fail(SOFTCUDA_ALLOC, 0, false);
    device_download(result, receive, sizeof result);
    check(code == MPI_SUCCESS && memcmp(result, exact, sizeof result) == 0,
          "memory that cannot be pinned serves as it is");
    check(device_count().live == live, "nothing is pinned then");
    check(is_right() && device_count().live == live + 2, "and is pinned by the next call");
    device_free(send);
    device_free(receive);
}

/* The program's own work failed: the context is of no more use, and neither are its buffers. */
static void test_broken_context(void)
{
    void *buffer = device_clone(input, sizeof input);
    int code;

    device_pin(input, sizeof input);
    device_fail(SOFTCUDA_ASYNC, 1, false);
    device_upload_later(buffer, input, sizeof input, NULL);
    code = reduce(MPI_IN_PLACE, buffer);
    check(code != MPI_SUCCESS, "work that was queued before fails: an error");
    code = reduce(MPI_IN_PLACE, buffer);
    check(code != MPI_SUCCESS, "and so are later calls");
    check(reduce(MPI_IN_PLACE, result) == MPI_SUCCESS, "but not those on host buffers");
}

static void test_failures(void)
{
    unsigned long long live;

    test_unpinned();
    test_copy(1, "the copy to the host fails");
    test_copy(2, "the copy to the device fails");
    test_store_of_one();
    live = device_count().live;
    test_memory(1 << 20);
    check(device_count().live == live, "nothing is lost");
    test_broken_context();
}

/* ---- what is kept ---- */

/* An exclusive or of BYTES bytes, in place, on one rank. */
static void reduce_alone(int bytes)
{
    void *buffer = device_alloc((size_t)bytes);

    MPI_Allreduce(MPI_IN_PLACE, buffer, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_SELF);
    device_free(buffer);
}

static void test_kept(void)
{
    unsigned long long before = device_count().live, kept;
    unsigned long long allocations;

    reduce_alone(100000);
    kept = device_count().live;
    check(kept == before + 1, "the pinned memory of a call is kept");
    allocations = device_count().operations[SOFTCUDA_ALLOC];
    for (int i = 0; i < 20; i++)
        reduce_alone(100000 - i * 1000);
    /* One allocation for each, which is the buffer's own. */
    check(device_count().operations[SOFTCUDA_ALLOC] == allocations + 20,
          "later calls that are not larger use it again");
    for (int i = 0; i < 40; i++)
        reduce_alone(200000 + i * 70000);
    check(device_count().live <= before + 16, "not more than 16 blocks are kept");
    check(device_count().live > before + 1, "but several are");
    reduce_alone(600 << 20);
    kept = device_count().live;
    reduce_alone(600 << 20);
    check(device_count().live == kept, "a block larger than what may be kept is not");
}

/* Pinned memory is let go with the context that it was pinned in. */
static void test_reset(void)
{
    unsigned long long live;

    is_right();
    live = device_count().live;
    device_reset(check_rank);
    device_open(check_rank);
    check(device_count().live < live, "a context takes its pinned memory along");
    check(is_right(), "with a new context calls are right");
    check(is_right(), "and again");
    check(device_count().live == live, "and their memory is pinned");
}

/* ---- work that is queued ---- */

/* An upload into the buffer is queued when the call begins on the legacy default stream. */
static void test_order(void)
{
    static float later[COUNT], wanted[COUNT];
    void *buffer = device_clone(input, sizeof input);

    for (int i = 0; i < COUNT; i++)
        later[i] = input[i] + (float)i;
    device_pin(later, sizeof later);
    PMPI_Allreduce(later, wanted, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    device_upload_later(buffer, later, sizeof later, NULL);
    reduce(MPI_IN_PLACE, buffer);
    device_download(result, buffer, sizeof result);
    check(memcmp(result, wanted, sizeof result) == 0, "what was queued is done before");
    device_unpin(later);
    device_free(buffer);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "arguments";
    bool soft =
        strcmp(mode, "failures") == 0 || strcmp(mode, "memory") == 0 || strcmp(mode, "reset") == 0;

    check_begin(&argc, &argv);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT; i++)
        input[i] = (float)(i * 7 % 100 + check_rank) / 16;
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (!place_begin(mode, soft))
        return check_end();
    if (strcmp(mode, "failures") == 0)
        test_failures();
    else if (strcmp(mode, "memory") == 0)
        test_kept();
    else if (strcmp(mode, "reset") == 0)
        test_reset();
    else if (strcmp(mode, "order") == 0)
        test_order();
    else
        test_arguments();
    return check_end();
}
