/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The MPI library of a process is told by what it says of itself. This program is that library: it
 * exports entry points that do nothing, says what a case wants, and looks for itself in a child
 * process, since the answer is for the life of a process. And when a rank that waits says so. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/tap.h"
#include "mpi/abi.h"
#include "mpi/stall.h"
#include "mpi/table.h"

/* ---- the library ---- */

#define FAKE_MPICH "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"

/* What MPI_Get_library_version gives, and the major version of the standard's ABI; -1: it is not
 * that. */
static const char *fake_mpi_text = FAKE_MPICH;
static int fake_mpi_standard = -1;

static int fake(const char *name, char *text, int *length)
{
    if (strcmp(name, "Get_library_version") != 0)
        return 1;
    /* Time for another thread to see a table that is not yet complete. */
    usleep(20000);
    *length = sprintf(text, "%s", fake_mpi_text);
    return CGX_MPI_SUCCESS;
}

#define DEFINE(name)                                                \
    int fake_##name(char *text, int *length) __asm__("PMPI_" #name) \
        __attribute__((visibility("default")));                     \
    int fake_##name(char *text, int *length)                        \
    {                                                               \
        return fake(#name, text, length);                           \
    }
CGX_ABI_FUNCTIONS(DEFINE)
DEFINE(Get_library_version)

int fake_Abi_get_version(int *major, int *minor) __asm__("PMPI_Abi_get_version")
    __attribute__((visibility("default")));
int fake_Abi_get_version(int *major, int *minor)
{
    *major = fake_mpi_standard;
    *minor = fake_mpi_standard < 0 ? -1 : 0;
    return CGX_MPI_SUCCESS;
}

/* Open MPI's predefined objects. */
#define OBJECT(name)                                         \
    extern char name __attribute__((visibility("default"))); \
    char name
OBJECT(ompi_mpi_comm_null);
OBJECT(ompi_mpi_comm_world);
OBJECT(ompi_mpi_comm_self);
OBJECT(ompi_mpi_datatype_null);
OBJECT(ompi_mpi_byte);
OBJECT(ompi_mpi_int);
OBJECT(ompi_mpi_uint32_t);
OBJECT(ompi_mpi_double);
OBJECT(ompi_mpi_float);
OBJECT(ompi_mpi_real);
OBJECT(ompi_mpi_real4);
OBJECT(ompi_mpi_real2);
OBJECT(ompi_mpi_op_null);
OBJECT(ompi_mpi_op_sum);
OBJECT(ompi_mpi_op_min);
OBJECT(ompi_mpi_op_max);
OBJECT(ompi_mpi_op_bor);
OBJECT(ompi_mpi_info_null);
OBJECT(ompi_mpi_errors_return);
OBJECT(ompi_request_null);

/* ---- what is found ---- */

/* Runs EXAMINE in a process that has not looked yet; its stderr goes to ERRORS. */
static bool in_child(bool (*examine)(void), char *errors, size_t size)
{
    int channel[2], status;
    size_t used = 0;
    ssize_t got;
    pid_t child;

    fflush(stdout);
    if (pipe(channel) != 0)
        bail_out("no pipe");
    child = fork();
    if (child < 0)
        bail_out("no process");
    if (child == 0) {
        dup2(channel[1], STDERR_FILENO);
        _exit(examine() ? 0 : 1);
    }
    close(channel[1]);
    while (used + 1 < size && (got = read(channel[0], errors + used, size - used - 1)) > 0)
        used += (size_t)got;
    errors[used] = '\0';
    close(channel[0]);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char *expected; /* its ABI; NULL: an unknown one */

static bool is_expected(void)
{
    const struct cgx_mpi *mpi = cgx_mpi_find((const void *)is_expected);

    return expected ? mpi->abi == CGX_MPI_ABI_KNOWN && strcmp(mpi->abi_name, expected) == 0
                    : mpi->abi == CGX_MPI_ABI_FOREIGN;
}

static void test_known(const char *abi, const char *what, const char *text, int standard)
{
    char errors[1024];

    expected = abi;
    fake_mpi_text = text;
    fake_mpi_standard = standard;
    ok(in_child(is_expected, errors, sizeof errors), "%s: of %s", what, abi);
    ok(errors[0] == '\0', "nothing is printed for it");
}

static void test_foreign(const char *what, const char *text)
{
    char errors[1024];
    const char *end;

    expected = NULL;
    fake_mpi_text = text;
    fake_mpi_standard = -1;
    ok(in_child(is_expected, errors, sizeof errors), "foreign: %s", what);
    end = strchr(errors, '\n');
    ok(end != NULL && end[1] == '\0' && strstr(errors, "error: this library knows the ABIs of") &&
           strstr(errors, "every call is passed on untouched"),
       "one error line for it");
    diag("%s", errors);
}

static bool has_version_and_name(void)
{
    const struct cgx_mpi *mpi = cgx_mpi_find((const void *)has_version_and_name);

    return mpi->version[0] == 4 && mpi->version[1] == 0 &&
           strcmp(mpi->name, "MPICH Version: 4.0.2") == 0;
}

static bool has_no_version(void)
{
    const struct cgx_mpi *mpi = cgx_mpi_find((const void *)has_no_version);

    return mpi->version[0] == 0 && mpi->version[1] == 0;
}

/* ---- many threads ---- */

static pthread_barrier_t barrier;

static void *look(void *complete)
{
    const struct cgx_mpi *mpi;

    pthread_barrier_wait(&barrier);
    mpi = cgx_mpi_find((const void *)look);
    *(bool *)complete = mpi == cgx_mpi() && mpi->name[0] != '\0';
#define COMPLETE(name) *(bool *)complete = *(bool *)complete && mpi->name != NULL;
    CGX_ABI_FUNCTIONS(COMPLETE)
    return NULL;
}

static bool threads_see_it_complete(void)
{
    pthread_t threads[8];
    bool complete[8], all = true;

    pthread_barrier_init(&barrier, NULL, 8);
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, look, &complete[i]) != 0)
            return false;
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        all = all && complete[i];
    }
    return all;
}

/* ---- waiting, by a clock that is wrapped ---- */

static long now = 1000; /* seconds */

WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = now};
    return 0;
}

/* Looks at the clock every second; the second in which a warning is due, up to MOST, or -1. */
static int next_due(struct cgx_stall *stall, int most)
{
    for (int i = 1; i <= most; i++) {
        now++;
        if (cgx_stall_due(stall))
            return i;
    }
    return -1;
}

static void test_stall(void)
{
    struct cgx_stall stall = {0};
    bool due;

    cgx_stall_due(&stall);
    ok(next_due(&stall, 400) == 30, "a warning is due after 30 s");
    ok(next_due(&stall, 400) == 270, "and after 5 minutes");
    ok(next_due(&stall, 5000) == -1, "and none later");

    stall = (struct cgx_stall){0};
    cgx_stall_due(&stall);
    now += 3600;
    due = cgx_stall_due(&stall);
    now -= 7200;
    due = due || cgx_stall_due(&stall);
    ok(!due, "none is due where the process was stopped for an hour, or the clock goes back");
    ok(next_due(&stall, 400) == 25, "one is due 25 s later");

    for (int i = 0; i < 2; i++) {
        stall = (struct cgx_stall){0};
        cgx_stall_due(&stall);
        next_due(&stall, 31);
    }
    stall = (struct cgx_stall){0};
    cgx_stall_due(&stall);
    ok(next_due(&stall, 400) == 300, "the fifth wait of a process warns after 5 minutes alone");
}

int main(void)
{
    char errors[1024];

    ok(cgx_mpi() == NULL, "there is no table before it is looked for");
    test_known("MPICH", "MPICH 4", FAKE_MPICH, -1);
    test_known("MPICH", "MPICH 5", "MPICH Version:      5.0.2\nMPICH ABI: 18:0:6\n", -1);
    test_known("MPICH", "Intel MPI", "Intel(R) MPI Library 2021.10 for Linux* OS\n", -1);
    test_known("MPICH", "Cray MPICH",
               "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)\n", -1);
    test_known("MPICH", "MVAPICH2",
               "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : Wed March 2 2022", -1);
    test_known("Open MPI", "Open MPI", "Open MPI v4.1.4, package: a package", -1);
    test_known("the MPI standard", "the standard's ABI under MPICH's name", FAKE_MPICH, 1);
    test_foreign("an unknown family", "An MPI of tomorrow 1.0");

    fake_mpi_standard = -1;
    fake_mpi_text = FAKE_MPICH;
    ok(in_child(has_version_and_name, errors, sizeof errors), "MPICH's version and name are known");
    fake_mpi_text = "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)\n";
    ok(in_child(has_no_version, errors, sizeof errors), "a relative's version is not MPICH's");
    fake_mpi_text = FAKE_MPICH;
    ok(in_child(threads_see_it_complete, errors, sizeof errors),
       "threads that look at the same time all see the complete table");
    test_stall();
    return done_testing();
}
