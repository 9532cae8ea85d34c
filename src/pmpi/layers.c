/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/layers.h"

#include <stdlib.h>

#include "pmpi/start.h"
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

/* ---- making them ---- */

/* What was agreed for the call at POSITION, or NULL. */
static const struct cgx_signature *agreed_at(const struct cgx_comm *state, size_t position)
{
    uint64_t key = cgx_step_expects(state->step, position);
    struct cgx_say say = cgx_comm_say(state, key, position);
    const struct cgx_signature *found = cgx_signatures_peek(state->signatures, key, say.rule);

    return found && found->agreed && found->plan->adaptive ? found : NULL;
}

/* Whether the layers are those of the present step, and all calls that were agreed have one. */
static bool are_complete(const struct cgx_comm *state)
{
    const struct cgx_layers *layers = state->layers;

    for (size_t i = 0; i < layers->nshapes; i++) {
        if (!layers->adapt->layers[i].plan && agreed_at(state, i))
            return false;
    }
    return true;
}

static bool fill(const struct cgx_comm *state, struct cgx_layers *layers)
{
    const struct cgx_plan **plans = calloc(layers->nshapes, sizeof *plans);
    bool any = false;

    for (size_t i = 0; plans && i < layers->nshapes; i++) {
        const struct cgx_signature *signature = agreed_at(state, i);

        if (!signature)
            continue;
        any = true;
        plans[i] = signature->plan;
        layers->shapes[i] = signature->shape;
    }
    if (any)
        layers->adapt = cgx_adapt_create(cgx_start(), plans, layers->nshapes);
    free(plans);
    for (size_t i = 0; layers->adapt && i < layers->nshapes; i++) {
        if (layers->adapt->layers[i].plan)
            cgx_coll_follow(&layers->shapes[i], layers->adapt->layers[i].plan);
    }
    return layers->adapt != NULL;
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
    size_t period = cgx_step_period(state->step);
    struct cgx_layers *layers = calloc(1, sizeof *layers + period * sizeof layers->shapes[0]);
    int all, code;

    if (layers)
        layers->nshapes = period;
    all = layers && fill(state, layers);
    code = mpi->Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, state->own);
    if (code == MPI_SUCCESS && all) {
        layers->generation = cgx_step_generation(state->step);
        state->layers = layers;
        cgx_log(CGX_LOG_DEBUG, "a step of %zu calls: %zu segments", period,
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
    void *measured = adapt->measured;
    int code = MPI_SUCCESS;

    if (due == CGX_ADAPT_MEASURED)
        code =
            mpi->Reduce(state->rank == 0 ? MPI_IN_PLACE : measured, measured,
                        (int)(adapt->nsegments * CGX_WIDTHS), MPI_DOUBLE, MPI_SUM, 0, state->own);
    if (code == MPI_SUCCESS && state->rank == 0)
        cgx_adapt_choose(adapt, due);
    if (code == MPI_SUCCESS)
        code = mpi->Bcast(measured, (int)cgx_adapt_block(adapt), MPI_BYTE, 0, state->own);
    if (code != MPI_SUCCESS)
        return code;
    if (cgx_adapt_take(adapt, due))
        cgx_log(CGX_LOG_DEBUG, "step %llu: new widths%s", (unsigned long long)adapt->steps,
                due == CGX_ADAPT_SCALED ? ": the error grew" : "");
    for (size_t i = 0; i < state->layers->nshapes; i++) {
        if (adapt->layers[i].plan)
            cgx_coll_follow(&state->layers->shapes[i], adapt->layers[i].plan);
    }
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
