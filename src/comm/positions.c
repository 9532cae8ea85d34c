/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/positions.h"

#include <stdlib.h>

#include "coll/powers.h"
#include "comm/override.h"
#include "comm/planned.h"
#include "mpi/config.h"
#include "observe/stats.h"
#include "policy/adapt.h"
#include "util/float_state.h"
#include "util/log.h"

/* Steps after which layers are tried again that a rank had no memory for. */
#define NEXT_TRY 64

struct cgx_positions {
    uint64_t generation; /* of the step's positions */
    struct cgx_adapt *adapt;
    bool *compressed; /* by position: whether its calls were, when the layers were made */
    size_t nschedules;
    struct cgx_schedule schedules[]; /* by position */
};

void cgx_positions_free(struct cgx_positions *layers)
{
    if (layers) {
        cgx_adapt_free(layers->adapt);
        free(layers->compressed);
    }
    free(layers);
}

/* The schedules are those of the layers' plans as they are now. */
static void follow_plans(struct cgx_positions *layers)
{
    for (size_t i = 0; i < layers->nschedules; i++) {
        if (!layers->adapt->layers[i].plan)
            continue;
        cgx_coll_follow(&layers->schedules[i], layers->adapt->layers[i].plan);
        layers->adapt->layers[i].addends = cgx_powers_addends(&layers->schedules[i]);
    }
}

/* ---- making them ---- */

/* What is known of the calls at POSITION. */
static struct cgx_recurring at_position(struct cgx_comm *state, size_t position)
{
    uint64_t call = cgx_recurrence_expects(state->recurrence, position);
    struct cgx_recurring found = {
        .call = call, .position = position, .kind = &state->kinds[cgx_recurrence_type(call)]};

    found.override = cgx_comm_override(state, call, position, &found.reason);
    return found;
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

/* That of the calls at POSITION if they have a layer, or NULL; if memory is short, *SHORT
 * is set. */
static const struct cgx_planned *planned_at(struct cgx_comm *state, size_t position, bool *is_short)
{
    struct cgx_recurring recurring = at_position(state, position);
    const struct cgx_planned *planned;

    if (!is_agreed(state, &recurring))
        return NULL;
    planned = cgx_planned_find(state, &recurring);
    *is_short |= !planned;
    return planned && planned->plan->adaptive ? planned : NULL;
}

/* Whether the calls that have a layer are those that are compressed: one that went back to exact
 * must not stay in the budget. */
static bool are_complete(struct cgx_comm *state)
{
    const struct cgx_positions *layers = state->positions;

    for (size_t i = 0; i < layers->nschedules; i++) {
        struct cgx_recurring recurring = at_position(state, i);

        if (layers->compressed[i] != is_agreed(state, &recurring))
            return false;
    }
    return true;
}

/* The layers of the present step. NULL if memory is short. */
static struct cgx_positions *create(struct cgx_comm *state)
{
    size_t period = cgx_recurrence_period(state->recurrence);
    struct cgx_positions *layers = calloc(1, sizeof *layers + period * sizeof layers->schedules[0]);
    struct cgx_plan **plans = calloc(period, sizeof *plans);
    bool *compressed = calloc(period, sizeof *compressed);
    bool is_short = !layers || !plans || !compressed;

    for (size_t i = 0; !is_short && i < period; i++) {
        struct cgx_recurring recurring = at_position(state, i);
        const struct cgx_planned *planned = planned_at(state, i, &is_short);

        compressed[i] = is_agreed(state, &recurring);
        if (!planned)
            continue;
        /* The next look-up may forget it. */
        plans[i] = cgx_plan_copy(planned->plan);
        is_short |= !plans[i];
        layers->schedules[i] = planned->schedule;
    }
    if (!is_short)
        layers->adapt =
            cgx_adapt_create(cgx_config(), (const struct cgx_plan *const *)plans, period);
    for (size_t i = 0; plans && i < period; i++)
        cgx_plan_free(plans[i]);
    free(plans);
    if (is_short || !layers->adapt) {
        free(layers);
        free(compressed);
        return NULL;
    }
    layers->generation = cgx_recurrence_generation(state->recurrence);
    layers->nschedules = period;
    layers->compressed = compressed;
    follow_plans(layers);
    return layers;
}

/* True if some call may have a layer. */
static bool any_agreed(struct cgx_comm *state)
{
    for (size_t i = 0; i < cgx_recurrence_period(state->recurrence); i++) {
        struct cgx_recurring recurring = at_position(state, i);

        if (is_agreed(state, &recurring))
            return true;
    }
    return false;
}

/* Makes the layers of the present step, on all ranks or none. */
static int make(const struct cgx_mpi *mpi, struct cgx_comm *state)
{
    struct cgx_positions *layers = create(state);
    int all = layers != NULL;
    int code = mpi->Allreduce(mpi->IN_PLACE, &all, 1, mpi->INT, mpi->MIN, state->own);

    if (layers && code == CGX_MPI_SUCCESS && all) {
        state->positions = layers;
        cgx_log(CGX_LOG_DEBUG, "a step of %zu calls: %zu segments", layers->nschedules,
                layers->adapt->nsegments);
        return code;
    }
    cgx_positions_free(layers);
    state->positions_wait = NEXT_TRY;
    return code;
}

/* ---- steps ---- */

/* The plans of all ranks follow the root's choice. */
static int choose(const struct cgx_mpi *mpi, struct cgx_comm *state, enum cgx_adapt_due due)
{
    struct cgx_adapt *adapt = state->positions->adapt;
    int code = CGX_MPI_SUCCESS;

    if (due == CGX_ADAPT_MEASURED)
        code = mpi->Reduce(adapt->measured, adapt->summed, (int)(adapt->nsegments * CGX_ADAPT_ROW),
                           mpi->DOUBLE, mpi->SUM, 0, state->own);
    if (code == CGX_MPI_SUCCESS && state->rank == 0)
        cgx_adapt_choose(adapt, due);
    if (code == CGX_MPI_SUCCESS)
        code = mpi->Bcast(adapt->summed, (int)cgx_adapt_block(adapt), mpi->BYTE, 0, state->own);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (cgx_adapt_take(adapt, due))
        cgx_log(CGX_LOG_DEBUG, "step %llu: new widths%s", (unsigned long long)adapt->steps,
                due == CGX_ADAPT_SCALED ? ": the error grew" : "");
    cgx_stats_plan(state->stats, state->recurrence, adapt, due);
    follow_plans(state->positions);
    return code;
}

int cgx_positions_step(const struct cgx_mpi *mpi, struct cgx_comm *state)
{
    enum cgx_adapt_due due;
    union cgx_float_state caller;
    int code = CGX_MPI_SUCCESS;

    if (!cgx_config()->adaptive || state->own == NULL)
        return code;
    cgx_float_enter(&caller);
    if (state->positions &&
        (state->positions->generation != cgx_recurrence_generation(state->recurrence) ||
         !are_complete(state))) {
        cgx_positions_free(state->positions);
        state->positions = NULL;
    }
    if (state->positions) {
        due = cgx_adapt_step(state->positions->adapt);
        if (due != CGX_ADAPT_NOTHING)
            code = choose(mpi, state, due);
    } else if (state->positions_wait > 0) {
        state->positions_wait--;
    } else if (any_agreed(state)) {
        code = make(mpi, state);
    }
    cgx_float_leave(&caller);
    state->broken = code != CGX_MPI_SUCCESS;
    return code;
}

bool cgx_positions_find(const struct cgx_comm *state, size_t position, const struct cgx_plan *base,
                        const struct cgx_schedule **schedule, struct cgx_feedback *feedback)
{
    const struct cgx_positions *layers = state->positions;
    struct cgx_adapt_layer *layer;
    bool measures;

    if (!layers || position >= layers->nschedules ||
        layers->generation != cgx_recurrence_generation(state->recurrence))
        return false;
    layer = &layers->adapt->layers[position];
    if (!layer->plan || layer->plan->count != base->count || layer->plan->dtype != base->dtype ||
        layer->plan->nsegments != base->nsegments)
        return false;
    *schedule = &layers->schedules[position];
    measures = cgx_adapt_measures(layers->adapt);
    feedback->energies = layer->energies;
    feedback->findings = measures ? layer->findings : NULL;
    feedback->kept = measures ? &layer->kept : NULL;
    feedback->sampling = cgx_adapt_sampling(layers->adapt);
    return true;
}
