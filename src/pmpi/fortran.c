/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What Fortran programs call. The Fortran bindings of Open MPI 4.1 and 5 call PMPI_ functions,
 * which cannot be intercepted, so this file replaces them. For gfortran and compatible compilers,
 * MPI_Allreduce of mpif.h and of module mpi is mpi_allreduce_, that of mpi_f08 mpi_allreduce_f08_.
 * All arguments are addresses; a handle is an integer, or in mpi_f08 a record of one. In MPICH and
 * its family these functions, if they exist, call MPI_Allreduce. There, and in all other MPIs, the
 * call is passed on unchanged. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "comm/comm.h"
#include "mpi/table.h"
#include "pmpi/call.h"
#include "pmpi/request.h"

#define EXPORT(name) __asm__(name) __attribute__((visibility("default")))

typedef void fortran_allreduce(void *sendbuf, void *recvbuf, const int *count, const int *datatype,
                               const int *op, const int *comm, int *error);
typedef void fortran_free(int *comm, int *error);

fortran_allreduce cgx_export_fortran EXPORT("mpi_allreduce_");
fortran_allreduce cgx_export_fortran_08 EXPORT("mpi_allreduce_f08_");
fortran_free cgx_export_fortran_free EXPORT("mpi_comm_free_");
fortran_free cgx_export_fortran_free_08 EXPORT("mpi_comm_free_f08_");
fortran_free cgx_export_fortran_disconnect EXPORT("mpi_comm_disconnect_");
fortran_free cgx_export_fortran_disconnect_08 EXPORT("mpi_comm_disconnect_f08_");

/* As in exports.c. */
#define CALLER __builtin_return_address(0)
#define FAILED 15

/* A function of this file, and what its first call has found. */
struct entry {
    const char *pmpi_name; /* its own name behind a "p" */
    bool has_buffers_08;
    enum { UNKNOWN, TAKEN_OVER, PASSED_ON } _Atomic way;
    _Atomic(void *) next; /* the MPI's own; or NULL */
};
static struct entry plain = {.pmpi_name = "pmpi_allreduce_"};
static struct entry f08 = {.pmpi_name = "pmpi_allreduce_f08_", .has_buffers_08 = true};

/* Whether MPI's Fortran bindings call PMPI_Allreduce, with integers of 4 bytes. */
static bool is_served(const struct cgx_mpi *mpi, const struct entry *entry)
{
    int bytes;

    return mpi->abi == CGX_MPI_ABI_KNOWN && mpi->fortran.Type_f2c &&
           (!entry->has_buffers_08 || mpi->fortran.has_addresses_08) &&
           mpi->Type_size(mpi->fortran.INTEGER, &bytes) == CGX_MPI_SUCCESS &&
           bytes == (int)sizeof(int);
}

/* Finds the MPI where the caller finds its Fortran bindings. Bindings without a profiling interface
 * are no MPI, but stand-ins that serial programs link. */
static void look_up(struct entry *entry, const void *caller)
{
    void *next = dlsym(RTLD_NEXT, entry->pmpi_name + 1);
    void *pmpi = cgx_mpi_symbol(caller, entry->pmpi_name);
    bool served = pmpi && is_served(cgx_mpi_find(caller), entry);

    atomic_store(&entry->next, next ? next : pmpi);
    atomic_store(&entry->way, served ? TAKEN_OVER : PASSED_ON);
}

static void *buffer_of(const struct cgx_mpi *mpi, void *address)
{
    if (address == mpi->fortran.IN_PLACE)
        return mpi->IN_PLACE;
    return address == mpi->fortran.BOTTOM ? mpi->BOTTOM : address;
}

static int take_over(void *sendbuf, void *recvbuf, const int *count, const int *datatype,
                     const int *op, const int *comm)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_request request = {.sendbuf = buffer_of(mpi, sendbuf),
                                  .recvbuf = buffer_of(mpi, recvbuf),
                                  .count = *count,
                                  .datatype = mpi->fortran.Type_f2c(*datatype),
                                  .op = mpi->fortran.Op_f2c(*op),
                                  .comm = mpi->Comm_f2c(*comm)};

    cgx_request_complete(&request);
    return cgx_allreduce(&request);
}

static void reduce_fortran(struct entry *entry, const void *caller, void *sendbuf, void *recvbuf,
                           const int *count, const int *datatype, const int *op, const int *comm,
                           int *error)
{
    fortran_allreduce *next;
    int code = FAILED;

    if (atomic_load(&entry->way) == UNKNOWN)
        look_up(entry, caller);
    next = (fortran_allreduce *)atomic_load(&entry->next);
    if (atomic_load(&entry->way) == TAKEN_OVER) {
        code = take_over(sendbuf, recvbuf, count, datatype, op, comm);
    } else if (next) {
        next(sendbuf, recvbuf, count, datatype, op, comm, error);
        return;
    }
    if (error) /* mpi_f08 may omit it */
        *error = code;
}

void cgx_export_fortran(void *sendbuf, void *recvbuf, const int *count, const int *datatype,
                        const int *op, const int *comm, int *error)
{
    reduce_fortran(&plain, CALLER, sendbuf, recvbuf, count, datatype, op, comm, error);
}

void cgx_export_fortran_08(void *sendbuf, void *recvbuf, const int *count, const int *datatype,
                           const int *op, const int *comm, int *error)
{
    reduce_fortran(&f08, CALLER, sendbuf, recvbuf, count, datatype, op, comm, error);
}

/* ---- freeing ----
 *
 * In mpi_f08 MPICH calls PMPI_Comm_free as well. */

static void free_comm(struct entry *entry, const void *caller, int *comm, int *error)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    fortran_free *next;
    cgx_mpi_comm handle = NULL;
    int before = *comm;
    bool known;

    if (atomic_load(&entry->way) == UNKNOWN)
        look_up(entry, caller);
    next = (fortran_free *)atomic_load(&entry->next);
    if (!next) {
        if (error)
            *error = FAILED;
        return;
    }
    if (!mpi && cgx_mpi_symbol(caller, "PMPI_Comm_free"))
        mpi = cgx_mpi_find(caller);
    known = mpi && mpi->abi == CGX_MPI_ABI_KNOWN && mpi->Comm_f2c;
    if (known) {
        handle = mpi->Comm_f2c(before);
        cgx_comm_free_begin(handle);
    }
    next(comm, error);
    if (known)
        cgx_comm_free_end(handle, *comm != before);
}

void cgx_export_fortran_free(int *comm, int *error)
{
    static struct entry entry = {.pmpi_name = "pmpi_comm_free_"};

    free_comm(&entry, CALLER, comm, error);
}

void cgx_export_fortran_free_08(int *comm, int *error)
{
    static struct entry entry = {.pmpi_name = "pmpi_comm_free_f08_"};

    free_comm(&entry, CALLER, comm, error);
}

void cgx_export_fortran_disconnect(int *comm, int *error)
{
    static struct entry entry = {.pmpi_name = "pmpi_comm_disconnect_"};

    free_comm(&entry, CALLER, comm, error);
}

void cgx_export_fortran_disconnect_08(int *comm, int *error)
{
    static struct entry entry = {.pmpi_name = "pmpi_comm_disconnect_f08_"};

    free_comm(&entry, CALLER, comm, error);
}
