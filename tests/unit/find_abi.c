/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The MPI library of a process is told by what it says of itself. This program is that library: it
 * exports the entry points (link it with -rdynamic), says what a case wants, and looks for itself
 * in a child process, since the answer is for the life of a process. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/tap.h"
#include "mpi/table.h"

#ifdef OPEN_MPI
#define FAMILY "Open MPI v4.1.4, package: a package"
#define OTHER_FAMILY "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"
#else
#define FAMILY "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"
#define OTHER_FAMILY "Open MPI v4.1.4, package: a package"
#endif

static const char *library_text;
static int standard_abi; /* major version */

static int fake(const char *name, char *text, int *length)
{
    if (strcmp(name, "Get_library_version") != 0)
        return MPI_ERR_OTHER;
    /* Time for another thread to see a table that is not yet complete. */
    usleep(20000);
    *length = sprintf(text, "%s", library_text);
    return MPI_SUCCESS;
}

#define DEFINE(name)                                                \
    int fake_##name(char *text, int *length) __asm__("PMPI_" #name) \
        __attribute__((visibility("default")));                     \
    int fake_##name(char *text, int *length)                        \
    {                                                               \
        return fake(#name, text, length);                           \
    }
CGX_MPI_REQUIRED(DEFINE)

int fake_Abi_get_version(int *major, int *minor) __asm__("PMPI_Abi_get_version")
    __attribute__((visibility("default")));
int fake_Abi_get_version(int *major, int *minor)
{
    *major = standard_abi;
    *minor = standard_abi < 0 ? -1 : 0;
    return MPI_SUCCESS;
}

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

static bool is_ours(void)
{
    return cgx_mpi_find((const void *)is_ours)->abi == CGX_MPI_ABI_OURS;
}

static bool is_foreign(void)
{
    return cgx_mpi_find((const void *)is_foreign)->abi == CGX_MPI_ABI_FOREIGN;
}

static void test_ours(const char *what, const char *text)
{
    char errors[1024];

    library_text = text;
    standard_abi = -1;
    ok(in_child(is_ours, errors, sizeof errors), "ours: %s", what);
    ok(errors[0] == '\0', "nothing is printed for it");
}

static void test_foreign(const char *what, const char *text, int abi)
{
    char errors[1024];
    const char *end;

    library_text = text;
    standard_abi = abi;
    ok(in_child(is_foreign, errors, sizeof errors), "foreign: %s", what);
    end = strchr(errors, '\n');
    ok(end != NULL && end[1] == '\0' && strstr(errors, "error: this library was compiled for") &&
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
    CGX_MPI_REQUIRED(COMPLETE)
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
    test_ours("what it was compiled for", FAMILY);
#ifndef OPEN_MPI
    test_ours("MPICH 5", "MPICH Version:      5.0.2\nMPICH ABI: 18:0:6\n");
    test_ours("Intel MPI", "Intel(R) MPI Library 2021.10 for Linux* OS\n");
    test_ours("Cray MPICH", "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)\n");
    test_ours("MVAPICH2",
              "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : Wed March 2 2022");
#endif
    test_foreign("another family", OTHER_FAMILY, -1);
    test_foreign("an unknown family", "An MPI of tomorrow 1.0", -1);
    test_foreign("the standard's ABI under our family's name", FAMILY, 1);

    standard_abi = -1;
    library_text = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n";
    ok(in_child(has_version_and_name, errors, sizeof errors), "MPICH's version and name are known");
    library_text = "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)\n";
    ok(in_child(has_no_version, errors, sizeof errors), "a relative's version is not MPICH's");
    library_text = FAMILY;
    ok(in_child(threads_see_it_complete, errors, sizeof errors),
       "threads that look at the same time all see the complete table");
    return done_testing();
}
