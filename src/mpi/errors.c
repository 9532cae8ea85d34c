/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/errors.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "util/log.h"

int cgx_errors_return(cgx_mpi_comm comm, cgx_mpi_errhandler *handler)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int code = mpi->Comm_get_errhandler(comm, handler);

    if (code != CGX_MPI_SUCCESS)
        return code;
    code = mpi->Comm_set_errhandler(comm, mpi->ERRORS_RETURN);
    if (code != CGX_MPI_SUCCESS)
        mpi->Errhandler_free(handler);
    return code;
}

void cgx_errors_restore(cgx_mpi_comm comm, cgx_mpi_errhandler handler)
{
    cgx_mpi()->Comm_set_errhandler(comm, handler);
    cgx_mpi()->Errhandler_free(&handler);
}

static pthread_once_t code_once = PTHREAD_ONCE_INIT;
static int failure_code;

static void add_code(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int code;

    failure_code = mpi->ERR_OTHER;
    if (mpi->Add_error_code(mpi->ERR_OTHER, &code) == CGX_MPI_SUCCESS) {
        mpi->Add_error_string(code, "libcgxpmpi: an all-reduce failed");
        failure_code = code;
    }
}

/* Returns MPI's code for revocation if COMM is revoked, else CODE. The failed call may have
 * returned another code: collectives of Open MPI 5 sometimes return MPI_ERR_OTHER. */
static int code_of(cgx_mpi_comm comm, int code)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    cgx_mpi_errhandler handler;
    int revoked = 0, found = CGX_MPI_SUCCESS;

    if (mpi->Comm_is_revoked)
        mpi->Comm_is_revoked(comm, &revoked);
    if (revoked && cgx_errors_return(comm, &handler) == CGX_MPI_SUCCESS) {
        found = mpi->Iprobe(mpi->ANY_SOURCE, 0, comm, &(int){0});
        cgx_errors_restore(comm, handler);
    }
    return found == CGX_MPI_SUCCESS ? code : found;
}

void cgx_errors_call(cgx_mpi_comm comm, int code)
{
    static atomic_flag has_paused = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&has_paused))
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    cgx_mpi()->Comm_call_errhandler(comm, code);
}

int cgx_errors_raise_code(cgx_mpi_comm comm, int code, const char *format, ...)
{
    char why[256];
    va_list arguments;

    code = code_of(comm, code);
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    cgx_log(CGX_LOG_ERROR, "an all-reduce failed: %s", why);
    cgx_errors_call(comm, code);
    return code;
}

int cgx_errors_raise(cgx_mpi_comm comm, const char *why)
{
    return cgx_errors_raise_code(comm, cgx_errors_code(CGX_MPI_SUCCESS), "%s", why);
}

int cgx_errors_code(int code)
{
    pthread_once(&code_once, add_code);
    return code == CGX_MPI_SUCCESS ? failure_code : code;
}
