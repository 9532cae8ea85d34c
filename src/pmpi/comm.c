/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "pmpi/agreement.h"
#include "pmpi/errors.h"
#include "pmpi/start.h"
#include "util/log.h"

/* MPICH has about two thousand communicators for a process; a program that makes two thousand
 * itself must still get them. */
#define MOST_OWN 32

static atomic_int own_alive;

bool cgx_comm_reserve(void)
{
    if (atomic_fetch_add(&own_alive, 1) < MOST_OWN)
        return true;
    cgx_comm_return();
    return false;
}

void cgx_comm_return(void)
{
    atomic_fetch_sub(&own_alive, 1);
}

static void free_state(struct cgx_comm *state)
{
    if (!state)
        return;
    cgx_step_free(state->step);
    cgx_signatures_free(state->signatures);
    /* After a failure requests may still be under way in the scratch memory. */
    if (!state->broken)
        cgx_scratch_release(&state->scratch);
    free(state);
}

static int on_comm_free(MPI_Comm comm, int keyval, void *value, void *extra)
{
    struct cgx_comm *state = value;

    (void)comm, (void)keyval, (void)extra;
    if (state->own != MPI_COMM_NULL && !state->broken && !cgx_finalizing()) {
        cgx_mpi()->Comm_free(&state->own);
        cgx_comm_return();
    }
    free_state(state);
    return MPI_SUCCESS;
}

static pthread_once_t keyval_once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;

static void create_keyval(void)
{
    cgx_mpi()->Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &keyval, NULL);
}

/* True if every member of COMM is in MPI_COMM_WORLD, where there is one: a process that was spawned
 * or joined may not be preloaded. All ranks find the same, since all see a stranger if one does. */
static bool within_world(const struct cgx_mpi *mpi, MPI_Comm comm, int size)
{
    enum { BATCH = 64 };
    MPI_Group members, world;
    int initialized = 0;
    bool within = true;

    mpi->Initialized(&initialized);
    if (!initialized)
        return true;
    if (mpi->Comm_group(comm, &members) != MPI_SUCCESS)
        return false;
    if (mpi->Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) {
        mpi->Group_free(&members);
        return false;
    }
    for (int first = 0; within && first < size; first += BATCH) {
        int ranks[BATCH], in_world[BATCH];
        int count = size - first < BATCH ? size - first : BATCH;

        for (int i = 0; i < count; i++)
            ranks[i] = first + i;
        within = mpi->Group_translate_ranks(members, count, ranks, world, in_world) == MPI_SUCCESS;
        for (int i = 0; within && i < count; i++)
            within = in_world[i] != MPI_UNDEFINED;
    }
    mpi->Group_free(&world);
    mpi->Group_free(&members);
    return within;
}

/* Why no call on COMM can be compressed whatever the settings, found without communication and
 * alike on all ranks; NULL if it can. */
static const char *refuse_alone(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm *state)
{
    int inter = 0;

    if (mpi->Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return "an intercommunicator";
    if (mpi->Comm_size(comm, &state->size) != MPI_SUCCESS || state->size < 2)
        return "one rank";
    if (mpi->Comm_rank(comm, &state->rank) != MPI_SUCCESS || !within_world(mpi, comm, state->size))
        return "a member outside MPI_COMM_WORLD";
    return NULL;
}

static const char *refuse_by_settings(const struct cgx_settings *settings)
{
    if (!settings->valid)
        return "a setting was refused";
    if (!settings->enable)
        return "CGX_ENABLE=0";
    if (settings->profile == CGX_PROFILE_EXACT)
        return "CGX_PROFILE=exact";
    if (settings->bits == CGX_BITS_EXACT)
        return "CGX_COMPRESSION_QUANTIZATION_BITS=32";
    return NULL;
}

/* The tables, had before ranks agree, so that no rank lacks them afterwards. */
static bool have_tables(struct cgx_comm *state, const struct cgx_settings *settings)
{
    if (refuse_by_settings(settings))
        return true;
    state->signatures = cgx_signatures_create();
    if (settings->warmup > 0)
        state->step = cgx_step_create(settings->warmup);
    return state->signatures && (state->step || settings->warmup == 0);
}

static int create_state(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_start();
    bool equal;
    int code;

    state->own = MPI_COMM_NULL;
    state->refusal = refuse_alone(mpi, comm, state);
    if (state->refusal)
        return MPI_SUCCESS;
    code = cgx_agree_settings(mpi, comm, settings, have_tables(state, settings), &equal);
    if (code != MPI_SUCCESS)
        return code;
    state->refusal = equal ? refuse_by_settings(settings) : "settings differ between ranks";
    return MPI_SUCCESS;
}

int cgx_comm_get(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm **state)
{
    struct cgx_comm *made;
    int found, code;

    pthread_once(&keyval_once, create_keyval);
    code = mpi->Comm_get_attr(comm, keyval, state, &found);
    if (code != MPI_SUCCESS || found)
        return code;
    made = calloc(1, sizeof *made);
    if (!made)
        return cgx_errors_raise(mpi, comm, "out of memory for the state of a communicator");
    code = create_state(mpi, comm, made);
    if (code == MPI_SUCCESS)
        code = mpi->Comm_set_attr(comm, keyval, made);
    if (code != MPI_SUCCESS) {
        free_state(made);
        return code;
    }
    if (made->refusal)
        cgx_log(CGX_LOG_DEBUG, "a communicator of %d ranks: exact: %s", made->size, made->refusal);
    *state = made;
    return MPI_SUCCESS;
}

/* MPI_Comm_split, since MPI_Comm_dup would run the application's attribute copy callbacks. */
static MPI_Comm split(const struct cgx_mpi *mpi, MPI_Comm comm, int rank)
{
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Errhandler handler;

    if (cgx_errors_return(mpi, comm, &handler) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    if (mpi->Comm_split(comm, 0, rank, &own) != MPI_SUCCESS)
        own = MPI_COMM_NULL;
    cgx_errors_restore(mpi, comm, handler);
    if (own != MPI_COMM_NULL)
        mpi->Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    return own;
}

int cgx_comm_make_own(const struct cgx_mpi *mpi, MPI_Comm comm, struct cgx_comm *state, bool *made)
{
    MPI_Comm own = split(mpi, comm, state->rank);
    int code = cgx_agree_call(mpi, comm, own != MPI_COMM_NULL, 0, made);

    if (code == MPI_SUCCESS && *made) {
        state->own = own;
        return code;
    }
    if (own != MPI_COMM_NULL)
        mpi->Comm_free(&own);
    cgx_comm_return();
    return code;
}
