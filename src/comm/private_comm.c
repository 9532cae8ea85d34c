/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/private_comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/errors.h"
#include "mpi/stall.h"
#include "mpi/world.h"

/* Communicators that are left to the program, of those that MPI has for a process. */
#define PROGRAMS 2000
#define OTHERS 8 /* MPI_COMM_WORLD, and temporary ones */

static atomic_int alive; /* private communicators, and those that offers are about */

/* The private communicators of this process. The lock protects them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgx_private_comm *all;
static int next_number = 1;

static int most_communicators(void)
{
    int communicators = cgx_mpi()->communicators, rest = communicators - PROGRAMS - OTHERS;

    return rest > communicators / 2 ? communicators / 2 : rest;
}

/* ---- sharing ---- */

/* Whether several threads of this process may be in MPI at once. */
static bool is_threaded(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int level;

    return !cgx_world_exists() || mpi->Query_thread(&level) != CGX_MPI_SUCCESS ||
           level == mpi->THREAD_MULTIPLE;
}

/* Whether MPI continues when ranks fail, as Open MPI does with --with-ft ulfm. */
static bool tolerates_failures(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    const int *on;
    int found = 0;

    return mpi->Comm_is_revoked && cgx_world_exists() &&
           mpi->Comm_get_attr(mpi->COMM_WORLD, mpi->FT, &on, &found) == CGX_MPI_SUCCESS && found &&
           *on;
}

/* A communicator that can be shared in place of MADE, or NULL. */
static struct cgx_private_comm *find_shareable(const struct cgx_private_comm *made)
{
    struct cgx_private_comm *found = NULL;

    if (made->size == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    for (struct cgx_private_comm *shared = all; shared && !found; shared = shared->next) {
        if (!shared->broken && shared->size == made->size &&
            memcmp(shared->ranks, made->ranks, (size_t)made->size * sizeof made->ranks[0]) == 0)
            found = shared;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void use_shared(struct cgx_comm *state, struct cgx_private_comm *shared)
{
    pthread_mutex_lock(&lock);
    shared->users++;
    pthread_mutex_unlock(&lock);
    state->private = shared;
}

/* ---- making one ---- */

/* Makes one for STATE, without its communicator; NULL if memory is short. */
static struct cgx_private_comm *create_shared(const struct cgx_comm *state)
{
    size_t ranks = is_threaded() || tolerates_failures() ? 0 : (size_t)state->size;
    struct cgx_private_comm *made = malloc(sizeof *made + ranks * sizeof made->ranks[0]);

    if (!made)
        return NULL;
    *made = (struct cgx_private_comm){.size = (int)ranks, .late = cgx_world_is_over()};
    if (ranks > 0 && !cgx_world_ranks(state->comm, made->size, made->ranks))
        made->size = 0;
    return made;
}

/* Makes the communicator of MADE, with NUMBER, for STATE; none if MPI fails. By MPI_Comm_split,
 * since MPI_Comm_dup would run the program's attribute copy callbacks. */
static void split_caller(struct cgx_comm *state, struct cgx_private_comm *made, int number)
{
    if (cgx_mpi_split(state->comm, state->rank, &made->comm) == CGX_MPI_SUCCESS)
        cgx_mpi()->Comm_set_errhandler(made->comm, cgx_mpi()->ERRORS_RETURN);
    else
        made->comm = NULL;
    made->number = number;
    pthread_mutex_lock(&lock);
    next_number = number + 1 > next_number ? number + 1 : next_number;
    made->next = all;
    all = made;
    pthread_mutex_unlock(&lock);
    use_shared(state, made);
}

enum { FOUND, ROOM = 2, NUMBER };

void cgx_private_offer(const struct cgx_comm *state, struct cgx_private_offer *offer,
                       uint32_t *words)
{
    const bool has_room = atomic_fetch_add(&alive, 1) < most_communicators();

    offer->made = create_shared(state);
    offer->found = offer->made ? find_shareable(offer->made) : NULL;
    pthread_mutex_lock(&lock);
    words[NUMBER] = ~(uint32_t)next_number; /* the greatest number counts, unused on all ranks */
    pthread_mutex_unlock(&lock);
    words[FOUND] = offer->found ? (uint32_t)offer->found->number : 0;
    words[FOUND + 1] = ~words[FOUND];
    words[ROOM] = offer->made && has_room;
}

bool cgx_private_take(struct cgx_comm *state, struct cgx_private_offer *offer,
                      const uint32_t *words, bool wanted, bool joins)
{
    const bool shares = wanted && words[FOUND] > 0 && words[FOUND] == ~words[FOUND + 1];
    const bool makes = wanted && !shares && words[ROOM] > 0;

    if (shares)
        use_shared(state, offer->found);
    else if (makes)
        split_caller(state, offer->made, (int)~words[NUMBER]);
    if (!makes) {
        free(offer->made);
        atomic_fetch_sub(&alive, 1);
    }
    if ((shares || makes) && joins)
        state->work = &state->private->work;
    return shares || makes;
}

void cgx_private_put(struct cgx_comm *state)
{
    struct cgx_private_comm *shared = state->private, **link = &all;
    bool last, frees;

    if (!shared)
        return;
    pthread_mutex_lock(&lock);
    last = --shared->users == 0;
    frees = last && !shared->broken && !state->broken && (shared->late || !cgx_world_finalizing());
    while (last && *link != shared)
        link = &(*link)->next;
    if (last)
        *link = shared->next;
    pthread_mutex_unlock(&lock);
    if (frees && shared->comm)
        cgx_mpi()->Comm_free(&shared->comm);
    if (frees)
        atomic_fetch_sub(&alive, 1);
    if (last) {
        cgx_workspace_release(&shared->work, shared->broken || state->broken);
        free(shared);
    }
    state->work = &state->alone;
    state->private = NULL;
}

int cgx_private_fail(struct cgx_comm *state, int code, const char *why)
{
    struct cgx_private_comm *shared = state->private;

    code = cgx_errors_code(code);
    if (state->broken == CGX_MPI_SUCCESS)
        state->broken = code;
    if (shared && shared->broken == CGX_MPI_SUCCESS)
        shared->broken = code;
    if (shared && shared->comm && cgx_mpi()->Comm_revoke)
        cgx_mpi()->Comm_revoke(shared->comm);
    return cgx_errors_raise_code(state->comm, code, "%s", why);
}

/* ---- workspaces ---- */

void cgx_workspace_release(struct cgx_workspace *work, bool broken)
{
    if (!broken)
        cgx_scratch_release(&work->scratch);
    cgx_shm_free(work->shm);
    cgx_nodes_free(work->nodes);
}
