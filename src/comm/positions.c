/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/positions.h"

#include <stdlib.h>
#include <string.h>

#include "comm/history.h"
#include "comm/input.h"
#include "comm/override.h"
#include "comm/own.h"
#include "comm/planned.h"
#include "comm/residuals.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/stats.h"
#include "policy/adapt.h"
#include "policy/families.h"
#include "util/float_state.h"
#include "util/log.h"

/* Steps after which layers are tried again that a rank had no memory for. */
#define NEXT_TRY 64

struct cgx_positions {
    uint64_t generation; /* of the step's positions */
    struct cgx_adapt *adapt;
    /* What this rank has seen of the data where families are chosen, of all positions, and room for
     * the families of one. */
    uint32_t *seen;
    size_t nseen;
    uint8_t *families;
    uint32_t looks; /* that have been taken */
    size_t count;
    struct {
        bool compressed; /* whether its calls were, when the layers were made */
        size_t seen;     /* where its words begin */
        struct cgx_schedule schedule;
        struct cgx_kept_residuals residuals;
        struct cgx_kept_history history;
    } at[]; /* by position */
};

void cgx_positions_free(struct cgx_positions *layers)
{
    if (!layers)
        return;
    for (size_t i = 0; i < layers->count; i++) {
        cgx_retained_drop(&layers->at[i].residuals.memory);
        cgx_retained_drop(&layers->at[i].history.memory);
    }
    cgx_adapt_free(layers->adapt);
    free(layers->seen);
    free(layers->families);
    free(layers);
}

/* The schedules are those of the layers' plans as they are now. */
static void follow_plans(struct cgx_positions *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        if (layers->adapt->layers[i].plan)
            cgx_coll_follow(&layers->at[i].schedule, layers->adapt->layers[i].plan);
    }
}

/* ---- making them ---- */

/* What is known of the calls at POSITION. */
static struct cgx_recurring at_position(struct cgx_comm *state, size_t position)
{
    return cgx_comm_recurring(state, cgx_recurrence_expects(state->recurrence, position), position);
}

/* Whether these are compressed. */
static bool is_agreed(const struct cgx_comm *state, const struct cgx_recurring *recurring)
{
    const struct cgx_call_key key = {.call = recurring->call,
                                     .position = recurring->position,
                                     .generation = cgx_recurrence_generation(state->recurrence),
                                     .rule = recurring->override.rule};

    return recurring->kind->agreed && cgx_agreed_calls_peek(state->agreed_calls, &key);
}

/* Whether the calls that are compressed are those that were when LAYERS were made; NULL: are none.
 * One that went back to exact must not stay in the budget. */
static bool are_agreed(struct cgx_comm *state, const struct cgx_positions *layers)
{
    for (size_t i = 0; i < cgx_recurrence_period(state->recurrence); i++) {
        struct cgx_recurring recurring = at_position(state, i);

        if (is_agreed(state, &recurring) != (layers && layers->at[i].compressed))
            return false;
    }
    return true;
}

/* Takes note in LAYERS and PLANS of the calls at POSITION. False if memory is short. */
static bool add_position(struct cgx_comm *state, size_t position, struct cgx_positions *layers,
                         struct cgx_plan **plans)
{
    struct cgx_recurring recurring = at_position(state, position);
    const struct cgx_planned *planned;

    layers->at[position].compressed = is_agreed(state, &recurring);
    if (!layers->at[position].compressed)
        return true;
    planned = cgx_planned_find(state, &recurring);
    if (!planned || !cgx_plan_is_placed(planned->plan))
        return planned != NULL;
    /* The next look-up may forget it. */
    plans[position] = cgx_plan_copy(planned->plan);
    layers->at[position].schedule = planned->schedule;
    return plans[position] != NULL;
}

/* The memory of looks. False if it is short. */
static bool get_memory(struct cgx_positions *layers)
{
    size_t most = 1;

    for (size_t i = 0; i < layers->count; i++) {
        const struct cgx_plan *plan = layers->adapt->layers[i].plan;

        layers->at[i].seen = layers->nseen;
        if (!plan || !plan->turns)
            continue;
        layers->nseen += cgx_look_words(plan);
        most = plan->nsegments > most ? plan->nsegments : most;
    }
    layers->seen = calloc(layers->nseen + 1, sizeof layers->seen[0]);
    layers->families = malloc(most);
    return layers->seen && layers->families;
}

/* The layers of the present step. NULL if memory is short. */
static struct cgx_positions *create(struct cgx_comm *state)
{
    size_t period = cgx_recurrence_period(state->recurrence);
    struct cgx_positions *layers = calloc(1, sizeof *layers + period * sizeof layers->at[0]);
    struct cgx_plan **plans = calloc(period, sizeof *plans);
    bool had = layers && plans;

    for (size_t i = 0; had && i < period; i++)
        had = add_position(state, i, layers, plans);
    if (had)
        layers->adapt =
            cgx_adapt_create(cgx_config(), (const struct cgx_plan *const *)plans, period);
    for (size_t i = 0; plans && i < period; i++)
        cgx_plan_free(plans[i]);
    free(plans);
    if (layers)
        layers->count = period;
    if (!had || !layers->adapt || !get_memory(layers)) {
        cgx_positions_free(layers);
        return NULL;
    }
    layers->generation = cgx_recurrence_generation(state->recurrence);
    follow_plans(layers);
    return layers;
}

/* Makes the layers of the present step, on all ranks or none. */
static int make(struct cgx_comm *state)
{
    struct cgx_positions *layers = create(state);
    int all = layers != NULL;
    int code = cgx_errors_least(state->comm, &all, 1);

    if (layers && code == CGX_MPI_SUCCESS && all) {
        state->positions = layers;
        cgx_log(CGX_LOG_DEBUG, "a step of %zu calls: %zu segments", layers->count,
                layers->adapt->nsegments);
        return code;
    }
    cgx_positions_free(layers);
    state->positions_wait = NEXT_TRY;
    return code;
}

/* ---- steps ---- */

/* Which families are free in all ranks' plans follows from what some rank has seen. */
static int allow(struct cgx_comm *state)
{
    struct cgx_positions *layers = state->positions;
    int code = CGX_MPI_SUCCESS;

    if (layers->nseen > 0)
        code = cgx_mpi_union(state->comm, layers->seen, (int)layers->nseen);
    if (code != CGX_MPI_SUCCESS)
        return code;
    for (size_t i = 0; i < layers->count; i++) {
        struct cgx_adapt_layer *layer = &layers->adapt->layers[i];
        struct cgx_look look;

        if (!layer->plan || !layer->plan->turns)
            continue;
        look = cgx_look_at(layer->plan->count, layers->looks);
        if (cgx_look_judge(layer->plan, &look, layers->seen + layers->at[i].seen, layers->families))
            cgx_adapt_allow(layers->adapt, layer, layers->families);
    }
    memset(layers->seen, 0, layers->nseen * sizeof layers->seen[0]);
    layers->looks++;
    return code;
}

/* The plans of all ranks follow the root's choice, which it passes on by the caller's communicator:
 * a rank that does not come, since the program has revoked that, is not waited for. */
static int choose_quietly(struct cgx_comm *state, enum cgx_adapt_due due)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_adapt *adapt = state->positions->adapt;
    int code = CGX_MPI_SUCCESS;

    if (due == CGX_ADAPT_MEASURED)
        code = allow(state);
    if (code == CGX_MPI_SUCCESS && due == CGX_ADAPT_MEASURED)
        code = mpi->Reduce(adapt->measured, adapt->summed, (int)(adapt->nsegments * CGX_ADAPT_ROW),
                           mpi->DOUBLE, mpi->SUM, 0, state->comm);
    if (code == CGX_MPI_SUCCESS && state->rank == 0)
        cgx_adapt_choose(adapt, due);
    if (code == CGX_MPI_SUCCESS)
        code = mpi->Bcast(adapt->summed, (int)cgx_adapt_block(adapt), mpi->BYTE, 0, state->comm);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (cgx_adapt_take(adapt, due))
        cgx_log(CGX_LOG_DEBUG, "step %llu: new widths%s", (unsigned long long)adapt->steps,
                due == CGX_ADAPT_SCALED ? ": the error grew" : "");
    cgx_stats_plan(state->stats, state->recurrence, adapt, due);
    follow_plans(state->positions);
    return code;
}

static int choose(struct cgx_comm *state, enum cgx_adapt_due due)
{
    cgx_mpi_errhandler handler;
    int code = cgx_errors_return(state->comm, &handler);

    if (code != CGX_MPI_SUCCESS)
        return code;
    code = choose_quietly(state, due);
    cgx_errors_restore(state->comm, handler);
    return code;
}

/* Whether anything may be chosen for calls at a position. */
static bool is_chosen(const struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_config();

    return settings->adaptive || settings->codec == CGX_FAMILY_AUTO || settings->error_feedback ||
           settings->history || state->hints || cgx_config_rules();
}

int cgx_positions_step(struct cgx_comm *state)
{
    enum cgx_adapt_due due;
    union cgx_float_state caller;
    int code = CGX_MPI_SUCCESS;

    if (!is_chosen(state) || !state->own)
        return code;
    cgx_float_enter(&caller);
    if (state->positions &&
        (state->positions->generation != cgx_recurrence_generation(state->recurrence) ||
         !are_agreed(state, state->positions))) {
        cgx_positions_free(state->positions);
        state->positions = NULL;
    }
    if (state->positions) {
        due = cgx_adapt_step(state->positions->adapt);
        if (due != CGX_ADAPT_NOTHING)
            code = choose(state, due);
    } else if (state->positions_wait > 0) {
        state->positions_wait--;
    } else if (!are_agreed(state, NULL)) {
        code = make(state);
    }
    cgx_float_leave(&caller);
    if (code != CGX_MPI_SUCCESS)
        cgx_own_break(state, code);
    return code;
}

/* The layer at POSITION that serves the buffers of BASE; NULL: none does. */
static struct cgx_adapt_layer *layer_at(const struct cgx_comm *state, size_t position,
                                        const struct cgx_plan *base)
{
    const struct cgx_positions *layers = state->positions;
    struct cgx_adapt_layer *layer;

    if (!layers || position >= layers->count ||
        layers->generation != cgx_recurrence_generation(state->recurrence))
        return NULL;
    layer = &layers->adapt->layers[position];
    if (!layer->plan || layer->plan->count != base->count || layer->plan->dtype != base->dtype ||
        layer->plan->nsegments != base->nsegments)
        return NULL;
    return layer;
}

bool cgx_positions_find(const struct cgx_comm *state, size_t position, const struct cgx_plan *base,
                        const struct cgx_schedule **schedule, struct cgx_feedback *feedback)
{
    const struct cgx_positions *layers = state->positions;
    struct cgx_adapt_layer *layer = layer_at(state, position, base);

    if (!layer)
        return false;
    *schedule = &layers->at[position].schedule;
    feedback->energies = layer->energies;
    feedback->findings = cgx_adapt_measures(layers->adapt) ? layer->findings : NULL;
    feedback->sampling = cgx_adapt_sampling(layers->adapt);
    return layer->plan->adaptive;
}

void cgx_positions_look(struct cgx_comm *state, size_t position, const struct cgx_plan *base,
                        const struct cgx_pointer *where, const void *buffer)
{
    const struct cgx_positions *layers = state->positions;
    const struct cgx_adapt_layer *layer = layer_at(state, position, base);
    union cgx_float_state caller;
    struct cgx_look look;
    float *values;

    if (!layer || !layer->plan->turns || !cgx_adapt_looks(layers->adapt))
        return;
    look = cgx_look_at(layer->plan->count, layers->looks);
    values = malloc(look.count * sizeof *values);
    cgx_float_enter(&caller);
    if (values && cgx_input_gather(where, buffer, layer->plan->dtype, &look, values))
        cgx_look_set(layer->plan, &look, values, layers->seen + layers->at[position].seen);
    cgx_float_leave(&caller);
    free(values);
}

int cgx_positions_lend(struct cgx_comm *state, size_t position, struct cgx_coll *coll,
                       struct cgx_error_feedback *room)
{
    const struct cgx_adapt_layer *layer = layer_at(state, position, coll->schedule->plan);

    if (layer && layer->plan->feeds)
        return cgx_kept_residuals_get(
            state, &state->positions->at[position].residuals, coll->schedule,
            coll->standing == CGX_ABLE ? coll->encoder : NULL, room, &coll->error_feedback);
    if (layer && layer->plan->recalls)
        return cgx_kept_history_get(state, &state->positions->at[position].history, coll);
    return CGX_MPI_SUCCESS;
}

void cgx_positions_take_back(struct cgx_comm *state, size_t position, const struct cgx_coll *coll,
                             bool done)
{
    if (coll->error_feedback)
        state->positions->at[position].residuals.whole = done;
    if (coll->recalls)
        cgx_kept_history_put(&state->positions->at[position].history, done);
}
