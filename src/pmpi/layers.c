/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/layers.h"

#include <stdlib.h>

#include "pmpi/start.h"
#include "pmpi/stats.h"
#include "policy/adapt.h"
#include "util/log.h"

/* Steps after which layers are tried again that a rank had no memory for. */
#define NEXT_TRY 64

struct cgx_layers {
    uint64_t generation; /* of the step's positions */
    struct cgx_adapt *adapt;
    size_t nshapes;
    struct cgx_shape shapes[]; /* by position */
};

void cgx_layers_free(struct cgx_layers *layers)
{
    if (layers)
        cgx_adapt_free(layers->adapt);
    free(layers);
}

/* The shapes are those of the layers' plans as they are now. */
static void follow_plans(struct cgx_layers *layers)
{
    for (size_t i = 0; i < layers->nshapes; i++) {
        if (layers->adapt->layers[i].plan)
            cgx_coll_follow(&layers->shapes[i], layers->adapt->layers[i].plan);
    }
}

/* ---- making them ---- */

/* What was agreed for the call at POSITION, or NULL. */
static const struct cgx_signature *agreed_at(const struct cgx_comm *state, size_t position)
{
    uint64_t key = cgx_step_expects(state->step, position);
    struct cgx_say say = cgx_comm_say(state, key, position);
    const struct cgx_signature *found = cgx_signatures_peek(state->signatures, key, say.rule);

    return found && found->agreed && found->plan->adaptive ? found : NULL;
}

/* Whether the calls that have a layer are those that are agreed: one that went back to exact must
 * not stay in the budget. */
static bool are_complete(const struct cgx_comm *state)
{
    const struct cgx_layers *layers = state->layers;

    for (size_t i = 0; i < layers->nshapes; i++) {
        if ((layers->adapt->layers[i].plan != NULL) != (agreed_at(state, i) != NULL))
            return false;
    }
    return true;
}

/* The layers of the present step, of which at least one call was agreed. NULL if memory is short.
 */
static struct cgx_layers *create(const struct cgx_comm *state)
{
    size_t period = cgx_step_period(state->step);
    struct cgx_layers *layers = calloc(1, sizeof *layers + period * sizeof layers->shapes[0]);
    const struct cgx_plan **plans = calloc(period, sizeof *plans);

    for (size_t i = 0; layers && plans && i < period; i++) {
        const struct cgx_signature *signature = agreed_at(state, i);

        if (!signature)
            continue;
        plans[i] = signature->plan;
        layers->shapes[i] = signature->shape;
    }
    if (layers && plans)
        layers->adapt = cgx_adapt_create(cgx_start(), plans, period);
    free(plans);
    if (!layers || !layers->adapt) {
        free(layers);
        return NULL;
    }
    layers->generation = cgx_step_generation(state->step);
    layers->nshapes = period;
    follow_plans(layers);
    return layers;
}

/* True if some call may have a layer. */
static bool any_agreed(const struct cgx_comm *state)
{
    for (size_t i = 0; i < cgx_step_period(state->step); i++) {
        if (agreed_at(state, i))
            return true;
    }
    return false;
}

/* Makes the layers of the present step, on all ranks or none. */
static int make(const struct cgx_mpi *mpi, struct cgx_comm *state)
{
    struct cgx_layers *layers = create(state);
    int all = layers != NULL;
    int code = mpi->Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, state->own);

    if (layers && code == MPI_SUCCESS && all) {
        state->layers = layers;
        cgx_log(CGX_LOG_DEBUG, "a step of %zu calls: %zu segments", layers->nshapes,
                layers->adapt->nsegments);
        return code;
    }
    cgx_layers_free(layers);
    state->layers_wait = NEXT_TRY;
    return code;
}

/* ---- steps ---- */

/* The plans of all ranks follow the root's choice. */
static int choose(const struct cgx_mpi *mpi, struct cgx_comm *state, enum cgx_adapt_due due)
{
    struct cgx_adapt *adapt = state->layers->adapt;
    int code = MPI_SUCCESS;

    if (due == CGX_ADAPT_MEASURED)
        code = mpi->Reduce(adapt->measured, adapt->summed, (int)(adapt->nsegments * CGX_WIDTHS),
                           MPI_DOUBLE, MPI_SUM, 0, state->own);
    if (code == MPI_SUCCESS && state->rank == 0)
        cgx_adapt_choose(adapt, due);
    if (code == MPI_SUCCESS)
        code = mpi->Bcast(adapt->summed, (int)cgx_adapt_block(adapt), MPI_BYTE, 0, state->own);
    if (code != MPI_SUCCESS)
        return code;
    if (cgx_adapt_take(adapt, due))
        cgx_log(CGX_LOG_DEBUG, "step %llu: new widths%s", (unsigned long long)adapt->steps,
                due == CGX_ADAPT_SCALED ? ": the error grew" : "");
    cgx_stats_plan(state->stats, state->step, adapt, due);
    follow_plans(state->layers);
    return code;
}

int cgx_layers_step(const struct cgx_mpi *mpi, struct cgx_comm *state)
{
    enum cgx_adapt_due due;
    int code = MPI_SUCCESS;

    if (!cgx_start()->adaptive || state->own == MPI_COMM_NULL)
        return code;
    if (state->layers &&
        (state->layers->generation != cgx_step_generation(state->step) || !are_complete(state))) {
        cgx_layers_free(state->layers);
        state->layers = NULL;
    }
    if (state->layers) {
        due = cgx_adapt_step(state->layers->adapt);
        if (due != CGX_ADAPT_NOTHING)
            code = choose(mpi, state, due);
    } else if (state->layers_wait > 0) {
        state->layers_wait--;
    } else if (any_agreed(state)) {
        code = make(mpi, state);
    }
    state->broken = code != MPI_SUCCESS;
    return code;
}

bool cgx_layers_find(const struct cgx_comm *state, size_t position, const struct cgx_plan *base,
                     const struct cgx_shape **shape, struct cgx_tally *tally)
{
    const struct cgx_layers *layers = state->layers;
    const struct cgx_adapt_layer *layer;

    if (!layers || position >= layers->nshapes ||
        layers->generation != cgx_step_generation(state->step))
        return false;
    layer = &layers->adapt->layers[position];
    if (!layer->plan || layer->plan->count != base->count || layer->plan->dtype != base->dtype ||
        layer->plan->nsegments != base->nsegments)
        return false;
    *shape = &layers->shapes[position];
    tally->spreads = layer->spreads;
    tally->errors = cgx_adapt_measures(layers->adapt) ? layer->measured : NULL;
    return true;
}
