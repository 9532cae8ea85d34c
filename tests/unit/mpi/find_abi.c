/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The MPI library of a process is told by what it says of itself. This program is that library,
 * says what a case wants, and looks for itself in a child process, since the answer is for the life
 * of a process. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/tap.h"
#include "mpi/abi.h"
#include "mpi/table.h"
#include "unit/lib/fake_mpi.h"

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
    return done_testing();
}
