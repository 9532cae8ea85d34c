/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* System calls that fail when ranks set up shared memory: "shared_faults FUNCTION...". Each call
 * that the library makes of that function on one rank fails in turn, in a new communicator's first
 * sum and in a later one that needs more memory. Then all ranks go on through MPI, or none. Linked
 * with the library's objects, with the functions wrapped. */

#define _GNU_SOURCE /* memfd_create */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"

static const char *what = ""; /* the function */
static bool armed;
static int left; /* calls of it before the one that fails */
static bool failed;
static bool open_to_others; /* a segment's file was so */

static bool fails(const char *function)
{
    if (!armed || strcmp(function, what) != 0 || left-- > 0)
        return false;
    armed = false;
    errno = EMFILE;
    return failed = true;
}

WRAPPED(int, memfd_create, const char *name, unsigned flags)
{
    return fails("memfd_create") ? -1 : __real_memfd_create(name, flags);
}

WRAPPED(int, fchmod, int file, mode_t mode)
{
    return fails("fchmod") ? -1 : __real_fchmod(file, mode);
}

static int opened = -1; /* the segment that was last */

WRAPPED(int, fstat, int file, struct stat *status)
{
    return file == opened && fails("fstat") ? -1 : __real_fstat(file, status);
}

WRAPPED(int, ftruncate, int file, off_t length)
{
    struct stat status;

    if (__real_fstat(file, &status) != 0 || (status.st_mode & 0777) != 0600)
        open_to_others = true;
    return fails("ftruncate") ? -1 : __real_ftruncate(file, length);
}

/* Of memory that is shared, not of tables. */
WRAPPED(void *, mmap, void *at, size_t bytes, int access, int flags, int file, off_t offset)
{
    return flags & MAP_SHARED && fails("mmap")
               ? MAP_FAILED
               : __real_mmap(at, bytes, access, flags, file, offset);
}

WRAPPED(ssize_t, readlink, const char *path, char *target, size_t size)
{
    return fails("readlink") ? -1 : __real_readlink(path, target, size);
}

/* Of segments. "another": the file is of the same size, but another one. */
WRAPPED(int, open, const char *path, int flags, ...)
{
    mode_t mode = 0;
    int file, other;
    struct stat status;
    va_list arguments;

    va_start(arguments, flags);
    if (flags & O_CREAT)
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if (!strstr(path, "/fd/"))
        return __real_open(path, flags, mode);
    if (fails("open"))
        return -1;
    file = opened = __real_open(path, flags, mode);
    if (!fails("another"))
        return file;
    opened = other = __real_memfd_create("cgxpmpi", MFD_CLOEXEC);
    if (__real_fstat(file, &status) != 0 || __real_ftruncate(other, status.st_size) != 0)
        abort();
    close(file);
    return other;
}

WRAPPED(ssize_t, getrandom, void *bytes, size_t size, unsigned flags)
{
    return fails("getrandom") ? -1 : __real_getrandom(bytes, size, flags);
}

WRAPPED(void *, calloc, size_t count, size_t bytes)
{
    return fails("calloc") ? NULL : __real_calloc(count, bytes);
}

/* ---- sums ---- */

/* How a sum went, on all ranks: WRONG also where they did not go the same way. */
enum way { WRONG, EXACT, BY_MPI, SHARED };

static enum way reduce(MPI_Comm comm, size_t count)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, count, count, SUM_SEPARATE};
    uint64_t before = traffic_messages();
    struct judged judged = bound_judge(&sum, comm);
    bool by_mpi = traffic_messages() > before;

    if (!check_everywhere(judged.right && judged.same, comm))
        return WRONG;
    if (check_everywhere(by_mpi, comm))
        return judged.compressed ? BY_MPI : WRONG;
    if (!check_everywhere(!by_mpi, comm))
        return WRONG;
    return judged.compressed ? SHARED : EXACT;
}

/* ---- faults ---- */

static int fallen_back; /* communicators */

/* Makes call NTH of the function fail on rank FAULTY, in the first sum of a communicator or in a
 * LATER one. False if there are fewer such calls. */
static bool test_call(int nth, int faulty, bool later)
{
    static const size_t more[] = {50000, 5000, 120000, 50000};
    bool memory = strcmp(what, "calloc") == 0, fault, right = true, changed = false;
    enum way way, expected = strcmp(what, "getrandom") == 0 ? SHARED : BY_MPI;
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, check_rank, &comm);
    if (later)
        right = reduce(comm, 5000) == SHARED;
    failed = false;
    left = nth;
    armed = check_rank == faulty;
    way = reduce(comm, later ? 50000 : 5000);
    armed = false;
    fault = !check_everywhere(!failed, MPI_COMM_WORLD);
    if (fault) {
        right = right && (memory ? way != WRONG : way == expected);
        for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
            enum way next = reduce(comm, more[i]);

            changed = changed || (way == BY_MPI && next != way);
            right = right && next != WRONG && (memory || next == expected);
            way = next;
        }
        fallen_back += way == BY_MPI;
        check(right && !changed, "%s fails in its call %d on rank %d, %s: all ranks go %s", what,
              nth, faulty, later ? "later" : "at first",
              memory               ? "the same way"
              : expected == SHARED ? "on as before"
                                   : "on by MPI");
    }
    MPI_Comm_free(&comm);
    return fault;
}

static void test_function(const char *function)
{
    what = function;
    for (int faulty = 0; faulty < check_size; faulty += check_size - 1) {
        int at_first = 0, later = 0;

        while (test_call(at_first, faulty, false))
            at_first++;
        while (test_call(later, faulty, true))
            later++;
        check(at_first > 0 && later > 0, "%s: %d calls at first and %d later", what, at_first,
              later);
    }
}

/* No file may grow beyond a limit, or the process gets a signal that ends it. */
static void test_limit(void)
{
    struct rlimit limit;
    MPI_Comm comm;
    bool right;

    MPI_Comm_split(MPI_COMM_WORLD, 0, check_rank, &comm);
    right = reduce(comm, 5000) == SHARED;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 65536;
    if (check_rank == check_size - 1)
        setrlimit(RLIMIT_FSIZE, &limit);
    right = reduce(comm, 1000000) == BY_MPI && right;
    check(right, "files may not be that large on one rank: all ranks go on by MPI");
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    fallen_back++;
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int one = 1;

    check_begin(&argc, &argv);
    /* Rules are read in the first call, before memory is short. */
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "limit") == 0)
            test_limit();
        else
            test_function(argv[i]);
    }
    check(!open_to_others, "no segment could be opened by other users");
    check_note("fell back %d", fallen_back);
    return check_end();
}
