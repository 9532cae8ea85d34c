/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/world.h"

#include <pthread.h>
#include <stdatomic.h>

#include "util/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int world_rank = -1, world_size;
static atomic_bool ends, finalizing;
static _Atomic(cgx_world_end *) at_end;

/* Called by MPI_Finalize, which deletes the attributes of MPI_COMM_SELF first. */
static void on_finalize(void *value)
{
    cgx_world_end *function = atomic_load(&at_end);

    (void)value;
    atomic_store(&finalizing, true);
    if (function)
        function(world_rank);
}

static void find_world(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int keyval;

    if (mpi->Comm_rank(mpi->COMM_WORLD, &world_rank) == CGX_MPI_SUCCESS)
        cgx_log_set_rank(world_rank);
    mpi->Comm_size(mpi->COMM_WORLD, &world_size);
    if (mpi->Comm_create_keyval(on_finalize, &keyval) == CGX_MPI_SUCCESS)
        atomic_store(&ends, mpi->Comm_set_attr(mpi->COMM_SELF, keyval, NULL) == CGX_MPI_SUCCESS);
}

bool cgx_world_exists(void)
{
    int initialized = 0, finalized = 0;

    cgx_mpi()->Initialized(&initialized);
    if (initialized)
        cgx_mpi()->Finalized(&finalized);
    if (!initialized || finalized)
        return false;
    pthread_once(&once, find_world);
    return true;
}

int cgx_world_rank(void)
{
    return world_rank;
}

int cgx_world_size(void)
{
    return world_size;
}

/* Uses no heap memory, so that a rank short of memory has the same answer as the others. */
static bool translate_ranks(cgx_mpi_group members, int size, cgx_mpi_group world, int *ranks)
{
    enum { BATCH = 64 };
    const struct cgx_mpi *mpi = cgx_mpi();

    for (int first = 0; first < size; first += BATCH) {
        int here[BATCH], there[BATCH];
        int count = size - first < BATCH ? size - first : BATCH, code;

        for (int i = 0; i < count; i++)
            here[i] = first + i;
        code = mpi->Group_translate_ranks(members, count, here, world, there);
        for (int i = 0; i < count; i++) {
            if (code != CGX_MPI_SUCCESS || there[i] == mpi->UNDEFINED)
                return false;
            if (ranks)
                ranks[first + i] = there[i];
        }
    }
    return true;
}

bool cgx_world_ranks(cgx_mpi_comm comm, int size, int *ranks)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    cgx_mpi_group members, world;
    bool ok = false;

    if (!cgx_world_exists()) {
        for (int i = 0; ranks && i < size; i++)
            ranks[i] = i;
        return true;
    }
    if (mpi->Comm_group(comm, &members) != CGX_MPI_SUCCESS)
        return false;
    if (mpi->Comm_group(mpi->COMM_WORLD, &world) == CGX_MPI_SUCCESS) {
        ok = translate_ranks(members, size, world, ranks);
        mpi->Group_free(&world);
    }
    mpi->Group_free(&members);
    return ok;
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

bool cgx_world_is_over(void)
{
    return atomic_load(&finalizing) && !cgx_world_exists();
}
