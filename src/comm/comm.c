/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/comm.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "comm/agreement.h"
#include "comm/override.h"
#include "comm/planned.h"
#include "comm/positions.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/world.h"
#include "observe/stats.h"
#include "util/hash.h"
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

/* Stands for the state of a communicator where memory is short. */
static struct cgx_comm no_state = {
    .agreed = true, .final = true, .refusal = CGX_REASON_NO_MEMORY, .own = NULL};

static void free_state(struct cgx_comm *state)
{
    if (state == &no_state)
        return;
    cgx_stats_end(state->stats);
    cgx_positions_free(state->positions);
    cgx_recurrence_free(state->recurrence);
    cgx_agreed_calls_free(state->agreed_calls);
    cgx_planned_calls_free(state->planned);
    cgx_hints_free(state->hints);
    /* After a failure requests may still be under way in the scratch memory. */
    if (!state->broken)
        cgx_scratch_release(&state->scratch);
    cgx_shm_free(state->shm);
    cgx_nodes_free(state->nodes);
    cgx_nodes_free(state->flat);
    free(state);
}

/* The key of the attribute. It must not outlive the MPI instance that made it, since a program of
 * MPI sessions may end one and begin another: it lives while there are attributes. */
static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;
#define NO_KEYVAL INT_MIN
static atomic_int keyval = NO_KEYVAL;
static unsigned attributes;

static void forget_attribute(const struct cgx_mpi *mpi)
{
    int unused = NO_KEYVAL;

    pthread_mutex_lock(&keyval_lock);
    if (--attributes == 0)
        unused = atomic_exchange(&keyval, NO_KEYVAL);
    pthread_mutex_unlock(&keyval_lock);
    if (unused != NO_KEYVAL && !cgx_world_finalizing())
        mpi->Comm_free_keyval(&unused);
}

static void on_comm_free(void *value)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_comm *state = value;

    if (state->own != NULL && !state->broken && !cgx_world_finalizing()) {
        mpi->Comm_free(&state->own);
        cgx_comm_return();
    }
    free_state(state);
    forget_attribute(mpi);
}

static int keep_state(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state)
{
    int created, code = CGX_MPI_SUCCESS;

    pthread_mutex_lock(&keyval_lock);
    if (attributes == 0) {
        code = mpi->Comm_create_keyval(on_comm_free, &created);
        if (code == CGX_MPI_SUCCESS)
            atomic_store(&keyval, created);
    }
    if (code == CGX_MPI_SUCCESS)
        attributes++;
    pthread_mutex_unlock(&keyval_lock);
    if (code != CGX_MPI_SUCCESS)
        return code;
    code = mpi->Comm_set_attr(comm, atomic_load(&keyval), state);
    if (code != CGX_MPI_SUCCESS)
        forget_attribute(mpi);
    return code;
}

/* True if every member of COMM is in MPI_COMM_WORLD, where there is one: a process that was spawned
 * or joined may not be preloaded. All ranks find the same, since all see a stranger if one does. */
static bool within_world(const struct cgx_mpi *mpi, cgx_mpi_comm comm, int size)
{
    enum { BATCH = 64 };
    cgx_mpi_group members, world;
    bool within = true;

    if (!cgx_world_exists())
        return true;
    if (mpi->Comm_group(comm, &members) != CGX_MPI_SUCCESS)
        return false;
    if (mpi->Comm_group(mpi->COMM_WORLD, &world) != CGX_MPI_SUCCESS) {
        mpi->Group_free(&members);
        return false;
    }
    for (int first = 0; within && first < size; first += BATCH) {
        int ranks[BATCH], in_world[BATCH];
        int count = size - first < BATCH ? size - first : BATCH;

        for (int i = 0; i < count; i++)
            ranks[i] = first + i;
        within =
            mpi->Group_translate_ranks(members, count, ranks, world, in_world) == CGX_MPI_SUCCESS;
        for (int i = 0; within && i < count; i++)
            within = in_world[i] != mpi->UNDEFINED;
    }
    mpi->Group_free(&world);
    mpi->Group_free(&members);
    return within;
}

/* Why no call on COMM can be compressed whatever the settings, found without communication and
 * alike on all ranks. */
static enum cgx_reason refuse_alone(const struct cgx_mpi *mpi, cgx_mpi_comm comm,
                                    struct cgx_comm *state)
{
    int inter = 0;

    if (mpi->Comm_test_inter(comm, &inter) != CGX_MPI_SUCCESS || inter)
        return CGX_REASON_INTERCOMMUNICATOR;
    if (mpi->Comm_size(comm, &state->size) != CGX_MPI_SUCCESS || state->size < 2)
        return CGX_REASON_ONE_RANK;
    if (mpi->Comm_rank(comm, &state->rank) != CGX_MPI_SUCCESS ||
        !within_world(mpi, comm, state->size))
        return CGX_REASON_OUTSIDE_WORLD;
    return CGX_REASON_NONE;
}

static enum cgx_reason refuse_by_settings(const struct cgx_settings *settings,
                                          const struct cgx_comm *state)
{
    if (!settings->valid)
        return CGX_REASON_SETTING_REFUSED;
    if (!settings->enable)
        return CGX_REASON_ENABLE;
    if (settings->profile == CGX_PROFILE_EXACT)
        return CGX_REASON_PROFILE;
    if (state->hints_refused)
        return CGX_REASON_HINT_REFUSED;
    if (!cgx_hints_enable(state->hints))
        return CGX_REASON_HINT_ENABLE;
    if (settings->bits == CGX_BITS_EXACT && !cgx_config_rules() && !state->hints)
        return CGX_REASON_BITS;
    return CGX_REASON_NONE;
}

/* The tables, had before ranks agree, so that no rank lacks them afterwards. */
static bool have_tables(struct cgx_comm *state, const struct cgx_settings *settings)
{
    if (refuse_by_settings(settings, state))
        return true;
    if (!state->agreed_calls)
        state->agreed_calls = cgx_agreed_calls_create();
    if (!state->planned)
        state->planned = cgx_planned_calls_create();
    if (!state->recurrence)
        state->recurrence = cgx_recurrence_create(&(struct cgx_recurrence_rule){
            .warmup = settings->warmup, .minimal_size = settings->minimal_size});
    return state->agreed_calls && state->planned && state->recurrence;
}

/* Plans that were made for other hints. */
static void forget_plans(struct cgx_comm *state)
{
    cgx_positions_free(state->positions);
    state->positions = NULL;
    if (state->planned)
        cgx_planned_calls_clear(state->planned);
    if (state->agreed_calls)
        cgx_agreed_calls_clear(state->agreed_calls);
    memset(state->kinds, 0, sizeof state->kinds);
}

/* Ranks compare settings, and what was said of this communicator. READY: whether this rank could
 * keep STATE at all. */
static int agree(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state, bool ready)
{
    const struct cgx_settings *settings = cgx_config();
    struct cgx_agreement agreement = {.settings = settings};
    bool equal;
    int code, length;

    if (cgx_rules_name_communicators(cgx_config_rules()) &&
        mpi->Comm_get_name(comm, state->name, &length) != CGX_MPI_SUCCESS)
        state->name[0] = '\0';
    agreement.name = cgx_hash(CGX_HASH_START, state->name, strlen(state->name));
    agreement.hints = state->hints_refused ? UINT32_MAX : cgx_hints_hash(state->hints);
    agreement.ready = ready && have_tables(state, settings);
    code = cgx_agree_settings(mpi, comm, &agreement, &equal, &state->final);
    state->agreed = code == CGX_MPI_SUCCESS;
    state->broken = code != CGX_MPI_SUCCESS;
    state->refusal = equal ? refuse_by_settings(settings, state) : CGX_REASON_DIFFER;
    if (!equal || agreement.hints != state->hints_agreed || agreement.name != state->name_agreed)
        forget_plans(state);
    state->hints_agreed = agreement.hints;
    state->name_agreed = agreement.name;
    if (equal)
        cgx_comm_tell_step(state);
    if (ready && !state->refusal && !state->stats)
        state->stats = cgx_stats_create(mpi, comm, state->rank, state->size);
    return code;
}

/* The state of COMM, without communication; NULL if memory is short. */
static struct cgx_comm *make_state(const struct cgx_mpi *mpi, cgx_mpi_comm comm)
{
    struct cgx_comm *made = calloc(1, sizeof *made);

    if (!made)
        return NULL;
    made->own = NULL;
    made->refusal = refuse_alone(mpi, comm, made);
    made->agreed = made->final = made->refusal != CGX_REASON_NONE;
    return made;
}

static int find_state(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm **state)
{
    int key = atomic_load_explicit(&keyval, memory_order_relaxed);
    int found = 0, code = CGX_MPI_SUCCESS;

    *state = NULL;
    if (key != NO_KEYVAL)
        code = mpi->Comm_get_attr(comm, key, state, &found);
    if (!found)
        *state = NULL;
    return code;
}

/* In the first call on COMM. A rank that cannot keep a state takes part in the agreement all the
 * same, so that all ranks come to know. */
static int begin_state(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm **state)
{
    static atomic_bool lost;
    struct cgx_comm local = {.own = NULL};
    struct cgx_comm *made;
    bool kept;
    int code = CGX_MPI_SUCCESS;

    /* Without a word to other ranks: this one does not know whether they compare settings now, or
     * have done so and are in a call of the program's, whose data must not meet a comparison. */
    if (atomic_load(&lost))
        return cgx_errors_raise(mpi, comm, "the state of a communicator could not be kept");
    made = make_state(mpi, comm);
    kept = keep_state(mpi, comm, made ? made : &no_state) == CGX_MPI_SUCCESS;
    if (!made)
        local.refusal = refuse_alone(mpi, comm, &local);
    *state = made ? made : &local;
    if (!(*state)->refusal)
        code = agree(mpi, comm, *state, made && kept);
    if (!kept) {
        /* What was agreed for this communicator cannot be looked up in the next call. */
        atomic_store(&lost, true);
        if (made)
            free_state(made);
        return cgx_errors_raise(mpi, comm, "the state of a communicator could not be kept");
    }
    if (!made)
        *state = &no_state;
    return code;
}

int cgx_comm_get(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm **state)
{
    int code = find_state(mpi, comm, state);

    if (code != CGX_MPI_SUCCESS)
        return code;
    if (!*state)
        return begin_state(mpi, comm, state);
    return (*state)->agreed || (*state)->broken ? CGX_MPI_SUCCESS : agree(mpi, comm, *state, true);
}

struct cgx_comm *cgx_comm_peek(const struct cgx_mpi *mpi, cgx_mpi_comm comm)
{
    struct cgx_comm *state;

    if (find_state(mpi, comm, &state) != CGX_MPI_SUCCESS || !state || state->refusal ||
        !state->recurrence)
        return NULL;
    return state;
}

int cgx_comm_hint(const struct cgx_mpi *mpi, cgx_mpi_comm comm, cgx_mpi_info info)
{
    struct cgx_comm *state;
    int code = find_state(mpi, comm, &state);

    if (code != CGX_MPI_SUCCESS)
        return code;
    if (!state) {
        state = make_state(mpi, comm);
        /* Without a state the first call makes one, and what was said here is missing when ranks
         * compare it. */
        if (!state || keep_state(mpi, comm, state) != CGX_MPI_SUCCESS) {
            if (state)
                free_state(state);
            return CGX_MPI_SUCCESS;
        }
    }
    if (state->final)
        return CGX_MPI_SUCCESS;
    state->agreed = false;
    cgx_comm_take_hints(mpi, info, state);
    return CGX_MPI_SUCCESS;
}

/* MPI_Comm_split, since MPI_Comm_dup would run the application's attribute copy callbacks. */
static cgx_mpi_comm split(const struct cgx_mpi *mpi, cgx_mpi_comm comm, int rank)
{
    cgx_mpi_comm own = NULL;
    cgx_mpi_errhandler handler;

    if (cgx_errors_return(mpi, comm, &handler) != CGX_MPI_SUCCESS)
        return mpi->COMM_NULL;
    if (mpi->Comm_split(comm, 0, rank, &own) != CGX_MPI_SUCCESS)
        own = NULL;
    cgx_errors_restore(mpi, comm, handler);
    if (own != NULL)
        mpi->Comm_set_errhandler(own, mpi->ERRORS_RETURN);
    return own;
}

int cgx_comm_make_own(const struct cgx_mpi *mpi, cgx_mpi_comm comm, struct cgx_comm *state,
                      bool *made)
{
    cgx_mpi_comm own = split(mpi, comm, state->rank);
    const struct cgx_answer mine = {own != NULL ? CGX_ABLE : CGX_DECLINED, 0, {0}};
    struct cgx_answer all;
    int code = cgx_agree_call(mpi, comm, &mine, &all);

    *made = all.standing == CGX_ABLE;
    if (code == CGX_MPI_SUCCESS && *made) {
        state->own = own;
        return code;
    }
    if (own != NULL)
        mpi->Comm_free(&own);
    cgx_comm_return();
    return code;
}
