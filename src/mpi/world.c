/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "mpi/table.h"
#include "util/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int world_rank = -1;
static atomic_bool ends, finalizing;
static _Atomic(cgx_world_end *) at_end;

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before it does anything else. */
static void on_finalize(void *value)
{
    cgx_world_end *function = atomic_load(&at_end);
    int size = 0;

    (void)value;
    atomic_store(&finalizing, true);
    cgx_mpi()->Comm_size(cgx_mpi()->COMM_WORLD, &size);
    if (function)
        function(world_rank, size);
}

static void meet(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int keyval;

    if (mpi->Comm_rank(mpi->COMM_WORLD, &world_rank) == CGX_MPI_SUCCESS)
        cgx_log_set_rank(world_rank);
    if (mpi->Comm_create_keyval(on_finalize, &keyval) == CGX_MPI_SUCCESS)
        atomic_store(&ends, mpi->Comm_set_attr(mpi->COMM_SELF, keyval, NULL) == CGX_MPI_SUCCESS);
}

bool cgx_world_exists(void)
{
    int initialized = 0;

    cgx_mpi()->Initialized(&initialized);
    if (initialized)
        pthread_once(&once, meet);
    return initialized;
}

int cgx_world_rank(void)
{
    return world_rank;
}

void cgx_world_at_end(cgx_world_end *function)
{
    atomic_store(&at_end, function);
}

bool cgx_world_ends(void)
{
    return cgx_world_exists() && atomic_load(&ends);
}

bool cgx_world_finalizing(void)
{
    return atomic_load(&finalizing);
}
