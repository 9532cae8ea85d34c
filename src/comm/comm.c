/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/comm.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "comm/attribute.h"
#include "comm/ballot.h"
#include "comm/private_comm.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "util/hash.h"
#include "util/log.h"

/* States for a few communicators when memory is short. A rank that cannot count the first sums
 * would not know when the others compare settings. */
#define SPARES 4
static struct {
    atomic_bool taken;
    struct cgx_comm state;
} spares[SPARES];

/* Returns memory for a state, or NULL. */
static struct cgx_comm *take_memory(void)
{
    struct cgx_comm *made = malloc(sizeof *made);

    for (unsigned i = 0; !made && i < SPARES; i++)
        if (!atomic_exchange(&spares[i].taken, true))
            made = &spares[i].state;
    return made;
}

static void give_memory(struct cgx_comm *state)
{
    for (unsigned i = 0; i < SPARES; i++) {
        if (state == &spares[i].state) {
            atomic_store(&spares[i].taken, false);
            return;
        }
    }
    free(state);
}

static enum cgx_reason refuse_by_settings(const struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_config();

    if (!settings->valid)
        return CGX_REASON_SETTING_REFUSED;
    if (!settings->enable)
        return CGX_REASON_ENABLE;
    if (state->terms.refused)
        return CGX_REASON_HINT_REFUSED;
    if (state->terms.hints.enable == CGX_SWITCH_OFF)
        return CGX_REASON_HINT_ENABLE;
    return CGX_REASON_NONE;
}

static bool had_large(const struct cgx_comm *state)
{
    bool had = state->stream.recurrence && state->stream.recurrence->calls > 0;

    for (unsigned i = 0; i < state->stream.first.sums; i++)
        had = had || cgx_tables_serve(state->stream.first.keys[i].count);
    return had;
}

/* MPI_Finalize frees these two without MPI_Comm_free, so cgx_comm_free_begin never sees them. */
static atomic_bool self_freed, world_freed;

static void on_comm_free(void *value)
{
    struct cgx_comm *state = value;

    if (state->removed)
        return;
    if (cgx_world_rank() == 0 && !state->established && !state->terms.refusal && had_large(state) &&
        !refuse_by_settings(state))
        cgx_notice_freed();
    if (state->comm == cgx_mpi()->COMM_SELF)
        atomic_store(&self_freed, true);
    if (state->comm == cgx_mpi()->COMM_WORLD)
        atomic_store(&world_freed, true);
    /* The memory that calls keep is freed before the backends that it comes from. */
    cgx_tables_free(state);
    cgx_reserved_drop(state->trial);
    cgx_private_put(state);
    cgx_stats_end(state->stats);
    cgx_override_clear(&state->terms.hints);
    cgx_workspace_release(&state->alone, state->broken);
    cgx_nodes_free(state->scheme.nodes);
    cgx_nodes_free(state->scheme.flat);
    give_memory(state);
    cgx_attribute_end();
}

/* The reason why no call can be compressed, whatever the settings; found without communication, and
 * the same on all ranks. A process that was spawned or joined may not be preloaded; if one rank
 * sees such a process, all ranks do. */
static enum cgx_reason refuse_alone(struct cgx_comm *state)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int inter = 0;

    if (mpi->Comm_test_inter(state->comm, &inter) != CGX_MPI_SUCCESS || inter)
        return CGX_REASON_INTERCOMMUNICATOR;
    if (mpi->Comm_size(state->comm, &state->size) != CGX_MPI_SUCCESS || state->size < 2)
        return CGX_REASON_ONE_RANK;
    if (mpi->Comm_rank(state->comm, &state->rank) != CGX_MPI_SUCCESS ||
        !cgx_world_ranks(state->comm, state->size, NULL))
        return CGX_REASON_OUTSIDE_WORLD;
    return CGX_REASON_NONE;
}

/* Clears what was made with other hints. */
static void clear_tables(struct cgx_comm *state)
{
    if (state->callsites)
        cgx_callsites_clear(state->callsites);
    memset(state->shared.kinds, 0, sizeof state->shared.kinds);
    memset(state->sizes, 0, sizeof state->sizes);
}

/* Ranks compare settings and the hints of this communicator. All of them have the tables
 * afterwards, or refuse all calls. */
static int agree_terms(struct cgx_comm *state)
{
    struct cgx_terms *terms = &state->terms;
    const uint32_t hints = terms->hints_agreed, name = terms->name_agreed;
    bool equal, had = state->stream.recurrence, ready;
    int code, length;

    if (cgx_rules_name_communicators(cgx_config_rules()) &&
        cgx_mpi()->Comm_get_name(state->comm, terms->name, &length) != CGX_MPI_SUCCESS)
        terms->name[0] = '\0';
    terms->name_agreed = cgx_hash(CGX_HASH_START, terms->name, strlen(terms->name));
    terms->hints_agreed = terms->refused ? UINT32_MAX : cgx_hints_hash(&terms->hints);
    ready = refuse_by_settings(state) || cgx_tables_make(state);
    code = cgx_agree_settings(state, ready, &equal);
    terms->agreed = code == CGX_MPI_SUCCESS;
    state->broken = code;
    terms->refusal = equal ? refuse_by_settings(state) : CGX_REASON_DIFFER;
    if (had && (!equal || terms->hints_agreed != hints || terms->name_agreed != name))
        clear_tables(state);
    /* All ranks have tables, or none. */
    if (!equal && !had)
        cgx_tables_free(state);
    if (!terms->refusal) {
        cgx_recurrence_set_step(state->stream.recurrence,
                                cgx_rules_step(cgx_config_rules(), &terms->hints, terms->name));
        if (!had)
            cgx_tables_catch_up(state);
        if (!state->stats)
            state->stats = cgx_stats_create(state->comm, state->size);
    } else {
        /* Later sums are exact and not recorded: after those the first ones predict nothing. */
        state->stream.first = (struct cgx_first){.sums = CGX_FIRST_SUMS};
    }
    /* Last, since the handler may free the communicator. */
    if (code != CGX_MPI_SUCCESS)
        cgx_errors_call(state->comm, code);
    return code;
}

/* Makes the state of COMM without communication; NULL if memory is short, or MPI refuses to keep
 * it. */
static struct cgx_comm *make_state(cgx_mpi_comm comm)
{
    struct cgx_comm *made = take_memory();

    if (!made)
        return NULL;
    *made = (struct cgx_comm){.comm = comm, .work = &made->alone};
    made->terms.refusal = refuse_alone(made);
    made->terms.agreed = made->terms.final = made->terms.refusal != CGX_REASON_NONE;
    if (cgx_attribute_set(comm, made, on_comm_free) == CGX_MPI_SUCCESS)
        return made;
    give_memory(made);
    return NULL;
}

/* MPI refused to keep a state: sums on new communicators fail from now on. */
static atomic_bool lost;

static int begin_state(cgx_mpi_comm comm, struct cgx_comm **state)
{
    if (!atomic_load(&lost) && !cgx_freeing_lost())
        *state = make_state(comm);
    if (*state)
        return CGX_MPI_SUCCESS;
    /* Without the state, the next call could not look up what ranks agree on. Other ranks are not
     * told: they may be comparing settings, or be in a call of the program, whose data must not
     * meet a message of the library. */
    atomic_store(&lost, true);
    return cgx_errors_raise(comm, "the state of a communicator could not be stored");
}

int cgx_comm_get(cgx_mpi_comm comm, uint64_t count, struct cgx_comm **state, enum cgx_reason *first)
{
    int code = cgx_attribute_get(comm, state);

    *first = CGX_REASON_NONE;
    if (code == CGX_MPI_SUCCESS && !*state)
        code = begin_state(comm, state);
    if (code != CGX_MPI_SUCCESS || !*state || (*state)->broken)
        return code;
    if ((*state)->terms.agreed)
        return CGX_MPI_SUCCESS;
    if ((*state)->stream.first.sums == CGX_FIRST_SUMS)
        return agree_terms(*state);
    *first = refuse_by_settings(*state);
    if (!*first)
        *first = cgx_tables_serve(count) ? CGX_REASON_FIRST : CGX_REASON_SMALL;
    return CGX_MPI_SUCCESS;
}

struct cgx_comm *cgx_comm_peek(cgx_mpi_comm comm)
{
    struct cgx_comm *state;

    /* A rank that was short of memory may lack the state of a communicator that has had hints, but
     * no sum. */
    if (cgx_comm_is_freed(comm) || cgx_attribute_get(comm, &state) != CGX_MPI_SUCCESS || !state ||
        state->terms.refusal || state->stream.first.sums == 0)
        return NULL;
    return state;
}

static const char *value_of(cgx_mpi_info info, const char *key,
                            char value[CGX_MPI_INFO_VALUE_BYTES])
{
    int found = 0;

    if (cgx_mpi()->Info_get(info, key, CGX_MPI_INFO_VALUE_BYTES - 1, value, &found) !=
            CGX_MPI_SUCCESS ||
        !found)
        return NULL;
    value[CGX_MPI_INFO_VALUE_BYTES - 1] = '\0';
    return value;
}

static void take_hints(struct cgx_comm *state, cgx_mpi_info info)
{
    static atomic_bool has_warned;
    char texts[CGX_HINTS][CGX_MPI_INFO_VALUE_BYTES];
    const char *values[CGX_HINTS];
    struct cgx_rules_error error;

    for (size_t i = 0; i < CGX_HINTS; i++)
        values[i] = value_of(info, cgx_action_keys[i].about.name, texts[i]);
    state->terms.refused = !cgx_hints_parse(&state->terms.hints, values, &error);
    if (!state->terms.refused) {
        state->terms.taken++;
        if (state->terms.hints.retired && state->rank == 0 && !atomic_exchange(&has_warned, true))
            cgx_log(CGX_LOG_WARN, "hint cgx_%s", state->terms.hints.retired);
    } else if (state->rank == 0) {
        cgx_log(CGX_LOG_ERROR,
                "a hint was refused, at column %u: %s; calls on this communicator are exact",
                error.column, error.message);
    }
}

int cgx_comm_hint(cgx_mpi_comm comm, cgx_mpi_info info)
{
    struct cgx_comm *state;
    int code;

    if (cgx_comm_is_freed(comm))
        return CGX_MPI_SUCCESS;
    code = cgx_attribute_get(comm, &state);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (!state)
        state = make_state(comm);
    /* Without a state the first call makes one, and ranks find that this rank lacks the hints. */
    if (!state || state->terms.final)
        return CGX_MPI_SUCCESS;
    state->terms.agreed = false;
    take_hints(state, info);
    return CGX_MPI_SUCCESS;
}

/* ---- freeing ---- */

bool cgx_comm_is_freed(cgx_mpi_comm comm)
{
    return cgx_freeing_has(comm, (uintptr_t)__builtin_frame_address(0)) ||
           (comm == cgx_mpi()->COMM_SELF && (atomic_load(&self_freed) || cgx_world_finalizing())) ||
           (comm == cgx_mpi()->COMM_WORLD && atomic_load(&world_freed));
}

void cgx_comm_free_begin(cgx_mpi_comm comm)
{
    struct cgx_freeing begun = {.comm = comm, .frame = (uintptr_t)__builtin_frame_address(0)};
    struct cgx_comm *state = NULL;

    if (comm && comm != cgx_mpi()->COMM_NULL && !cgx_freeing_has(comm, begun.frame))
        cgx_attribute_get(comm, &state);
    begun.state = state;
    if (!cgx_freeing_push(&begun) || !state)
        return;
    state->removed = true;
    if (cgx_attribute_remove(comm) != CGX_MPI_SUCCESS) {
        state->removed = false;
        cgx_freeing_pop(comm);
    }
}

void cgx_comm_free_end(cgx_mpi_comm comm, bool is_gone)
{
    struct cgx_comm *state = cgx_freeing_pop(comm);

    if (!state)
        return;
    state->removed = false;
    if (!is_gone && cgx_attribute_set(comm, state, on_comm_free) == CGX_MPI_SUCCESS) {
        cgx_attribute_end();
        return;
    }
    if (!is_gone)
        atomic_store(&lost, true);
    on_comm_free(state);
}
