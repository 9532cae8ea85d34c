/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/positions.h"

#include <stdlib.h>
#include <string.h>

#include "codec/uniform/uniform.h"
#include "comm/callsites.h"
#include "comm/capability.h"
#include "comm/private_comm.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "observe/stats.h"
#include "policy/widths/adapt.h"
#include "policy/widths/families.h"
#include "util/float_state.h"
#include "util/log.h"

/* Steps until layers are tried again after a rank lacked the memory for them. */
#define RETRY 64

struct cgx_positions {
    uint64_t generation; /* of the step's positions */
    struct cgx_adapt *adapt;
    /* If families are chosen: this rank's observations of the data, for all positions; and space
     * for the families of one position. */
    uint32_t *seen;
    size_t nseen;
    uint8_t *families;
    uint32_t samples; /* number taken */
    size_t count;
    struct cgx_callsite *sites[]; /* by position: those that were compressed when this was made;
                                     else NULL */
};

static void free_layers(struct cgx_positions *layers)
{
    if (!layers)
        return;
    for (size_t i = 0; i < layers->count; i++)
        if (layers->sites[i])
            layers->sites[i]->layer = NULL;
    cgx_adapt_free(layers->adapt);
    free(layers->seen);
    free(layers->families);
    free(layers);
}

void cgx_positions_drop(struct cgx_comm *state)
{
    free_layers(state->step.layers);
    state->step.layers = NULL;
}

/* Adapts the schedules to the present plans of the layers. */
static void follow_plans(struct cgx_positions *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        struct cgx_callsite *site = layers->sites[i];

        if (site && site->layer)
            cgx_coll_follow(&site->layered, site->layer->plan);
    }
}

/* ---- making layers ---- */

/* The site at POSITION if its calls are compressed, or NULL. */
static struct cgx_callsite *compressed_at(struct cgx_comm *state, size_t position)
{
    struct cgx_callsite *site = cgx_callsites_at(state, position);

    return site && site->state == CGX_SITE_COMPRESSED && cgx_comm_kind(state, site)->agreed ? site
                                                                                            : NULL;
}

/* Whether the same calls are compressed as when LAYERS were made; NULL: none are. A call that
 * became exact again must not be part of the budget. */
static bool are_agreed(struct cgx_comm *state, const struct cgx_positions *layers)
{
    for (size_t i = 0; i < cgx_recurrence_period(state->stream.recurrence); i++)
        if (compressed_at(state, i) != (layers ? layers->sites[i] : NULL))
            return false;
    return true;
}

/* Adds the calls at POSITION to LAYERS and PLANS. False if memory is short. */
static bool add_position(struct cgx_comm *state, size_t position, struct cgx_positions *layers,
                         const struct cgx_plan **plans)
{
    struct cgx_callsite *site = compressed_at(state, position);

    layers->sites[position] = site;
    if (!site)
        return true;
    cgx_callsites_schedule(state, site);
    /* A plan in the reserve is left out, since the next position reuses the reserve. */
    if (site->plan && site->plan->adaptive)
        plans[position] = site->plan;
    return site->plan != NULL;
}

/* Gives sites the layers that were made for them. */
static void give_layers(struct cgx_positions *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        struct cgx_callsite *site = layers->sites[i];

        if (!site || !layers->adapt->layers[i].plan)
            continue;
        site->layer = &layers->adapt->layers[i];
        site->layered = site->schedule;
    }
    follow_plans(layers);
}

/* Allocates the memory of samples. False if memory is short. */
static bool get_memory(struct cgx_positions *layers)
{
    size_t most = 1;

    for (size_t i = 0; i < layers->count; i++) {
        const struct cgx_plan *plan = layers->adapt->layers[i].plan;

        if (!plan || !plan->has_alternatives)
            continue;
        layers->sites[i]->sample_words = layers->nseen;
        layers->nseen += cgx_families_words(plan);
        most = plan->nsegments > most ? plan->nsegments : most;
    }
    layers->seen = calloc(layers->nseen + 1, sizeof layers->seen[0]);
    layers->families = malloc(most);
    return layers->seen && layers->families;
}

/* Makes the layers of the present step. NULL if memory is short. */
static struct cgx_positions *create(struct cgx_comm *state)
{
    size_t period = cgx_recurrence_period(state->stream.recurrence);
    struct cgx_positions *layers = calloc(1, sizeof *layers + period * sizeof layers->sites[0]);
    const struct cgx_plan **plans = calloc(period, sizeof *plans);
    bool had = layers && plans;

    for (size_t i = 0; had && i < period; i++)
        had = add_position(state, i, layers, plans);
    if (had)
        layers->adapt = cgx_adapt_create(cgx_config(), plans, period);
    free(plans);
    if (layers)
        layers->count = period;
    if (!had || !layers->adapt || !get_memory(layers)) {
        free_layers(layers);
        return NULL;
    }
    layers->generation = cgx_recurrence_generation(state->stream.recurrence);
    give_layers(layers);
    return layers;
}

/* Makes the layers of the present step on all ranks or on none. */
static int make(struct cgx_comm *state)
{
    struct cgx_positions *layers = create(state);
    int all = layers != NULL;
    int code = cgx_errors_least(state->comm, &all, 1);

    if (layers && code == CGX_MPI_SUCCESS && all) {
        state->step.layers = layers;
        cgx_log(CGX_LOG_DEBUG, "a step of %zu calls: %zu segments", layers->count,
                layers->adapt->nsegments);
        return code;
    }
    free_layers(layers);
    cgx_backoff_fail(&state->step.retry, RETRY, RETRY);
    return code;
}

/* ---- steps ---- */

/* Combines the observations of all ranks, which decide the families that all plans may use. */
static int allow(struct cgx_comm *state)
{
    struct cgx_positions *layers = state->step.layers;
    int code = CGX_MPI_SUCCESS;

    if (layers->nseen > 0)
        code = cgx_mpi_union(state->comm, layers->seen, (int)layers->nseen);
    if (code != CGX_MPI_SUCCESS)
        return code;
    for (size_t i = 0; i < layers->count; i++) {
        struct cgx_callsite *site = layers->sites[i];
        struct cgx_adapt_layer *layer = site ? site->layer : NULL;
        struct cgx_input_sample sample;

        if (!layer || !layer->plan->has_alternatives)
            continue;
        sample = cgx_families_sample(layer->plan->count, layers->samples);
        if (cgx_families_judge(layer->plan, &sample, layers->seen + site->sample_words,
                               layers->families))
            cgx_adapt_allow(layers->adapt, layer, layers->families);
    }
    memset(layers->seen, 0, layers->nseen * sizeof layers->seen[0]);
    layers->samples++;
    return code;
}

/* Adds up all ranks' measurements on the root. */
static int add_up(struct cgx_comm *state)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_adapt *adapt = state->step.layers->adapt;
    int code = allow(state);

    if (code != CGX_MPI_SUCCESS)
        return code;
    cgx_stall_enter();
    code = mpi->Reduce(adapt->measured, adapt->summed, (int)(adapt->nsegments * CGX_ADAPT_ROW),
                       mpi->DOUBLE, mpi->SUM, 0, state->comm);
    cgx_stall_leave();
    return code;
}

/* Sets all ranks' plans to the root's choice, which is sent on the caller's communicator: if the
 * program has revoked that, nobody waits for a rank that does not come. */
static int choose_quietly(struct cgx_comm *state, enum cgx_adapt_due due)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_adapt *adapt = state->step.layers->adapt;
    int code = CGX_MPI_SUCCESS;

    if (due == CGX_ADAPT_MEASURED)
        code = add_up(state);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (state->rank == 0)
        cgx_adapt_choose(adapt, due);
    cgx_stall_enter();
    code = mpi->Bcast(adapt->summed, (int)cgx_adapt_block(adapt), mpi->BYTE, 0, state->comm);
    cgx_stall_leave();
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (cgx_adapt_take(adapt, due))
        cgx_log(CGX_LOG_DEBUG, "step %llu: new widths%s", (unsigned long long)adapt->steps,
                due == CGX_ADAPT_SCALED ? ": back to base widths, the error grew" : "");
    cgx_stats_plan(state->stats, state->stream.recurrence, adapt, due);
    follow_plans(state->step.layers);
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

/* Whether something may be chosen for calls at a position. */
static bool is_chosen(const struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_config();

    return settings->adaptive || settings->codec == CGX_FAMILY_AUTO || state->terms.hints ||
           cgx_config_rules();
}

/* ---- the step of uniform quantisation ---- */

/* Begins a training step. If its positions have changed, the mean starts anew. */
static void begin_step(struct cgx_step *step, uint64_t generation)
{
    if (step->generation != generation)
        step->size = (struct cgx_step_size){.mean = 0};
    step->generation = generation;
    cgx_step_size_next(&step->size);
}

/* A site that is new, or comes only once, is no younger than its communicator, of which a step has
 * at most about so many compressed sums. */
#define MOST_SUMS 64

static uint32_t age_of(const struct cgx_comm *state, const struct cgx_callsite *site,
                       const struct cgx_coll *coll)
{
    return coll->has_history                       ? coll->age
           : site->runs > state->calls / MOST_SUMS ? site->runs
                                                   : state->calls / MOST_SUMS;
}

_Static_assert(CGX_STEP_STAGES == CGX_LEVEL_RESULT + 1, "as many");

void cgx_positions_set_steps(const struct cgx_comm *state, const struct cgx_callsite *site,
                             struct cgx_coll *coll)
{
    const struct cgx_step_size *size =
        cgx_step_size_is_known(&state->step.size) ? &state->step.size : &site->step_size;
    unsigned width = cgx_plan_stepped(coll->schedule->plan), payloads[CGX_STEP_STAGES];
    uint32_t age = age_of(state, site, coll);
    union cgx_float_state caller;

    if (width == 0)
        return;
    cgx_schedule_payloads(coll->schedule, payloads);
    cgx_float_enter(&caller);
    coll->error = cgx_step_size_error(width, age);
    coll->floor = cgx_step_size_floor(width, coll->error);
    if (age >= CGX_STEP_YOUNG && cgx_step_size_is_known(size))
        cgx_step_size_of(size, width, payloads, coll->steps);
    cgx_float_leave(&caller);
}

void cgx_positions_quantised(struct cgx_comm *state, struct cgx_callsite *site,
                             const struct cgx_quantised *quantised)
{
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    cgx_step_size_add(&state->step.size, quantised);
    cgx_step_size_add(&site->step_size, quantised);
    cgx_step_size_next(&site->step_size);
    cgx_float_leave(&caller);
}

/* ---- the beginning of a step ---- */

int cgx_positions_step(struct cgx_comm *state)
{
    enum cgx_adapt_due due;
    union cgx_float_state caller;
    int code = CGX_MPI_SUCCESS;

    cgx_float_enter(&caller);
    begin_step(&state->step, cgx_recurrence_generation(state->stream.recurrence));
    cgx_float_leave(&caller);
    if (!is_chosen(state) || !state->private.comm)
        return code;
    cgx_float_enter(&caller);
    if (state->step.layers &&
        (state->step.layers->generation != cgx_recurrence_generation(state->stream.recurrence) ||
         !are_agreed(state, state->step.layers))) {
        cgx_positions_drop(state);
    }
    if (state->step.layers) {
        due = cgx_adapt_step(state->step.layers->adapt);
        cgx_stats_over(state->stats, state->step.layers->adapt->over);
        if (due != CGX_ADAPT_NOTHING)
            code = choose(state, due);
    } else if (cgx_backoff_due(&state->step.retry) && !are_agreed(state, NULL)) {
        code = make(state);
    }
    cgx_float_leave(&caller);
    if (code != CGX_MPI_SUCCESS)
        cgx_private_break(state, code);
    return code;
}

struct cgx_feedback cgx_positions_feedback(const struct cgx_comm *state,
                                           const struct cgx_callsite *site)
{
    const struct cgx_adapt *adapt = state->step.layers->adapt;

    return (struct cgx_feedback){.energies = site->layer->energies,
                                 .findings =
                                     cgx_adapt_measures(adapt) ? site->layer->findings : NULL,
                                 .sampling = cgx_adapt_sampling(adapt)};
}

void cgx_positions_sample(struct cgx_comm *state, const struct cgx_callsite *site,
                          const struct cgx_pointer *where, const void *buffer)
{
    const struct cgx_positions *layers = state->step.layers;
    const struct cgx_plan *plan = site->layer->plan;
    union cgx_float_state caller;
    struct cgx_input_sample sample;
    float *values;

    if (!plan->has_alternatives || !cgx_adapt_samples_input(layers->adapt))
        return;
    sample = cgx_families_sample(plan->count, layers->samples);
    values = malloc(sample.count * sizeof *values);
    cgx_float_enter(&caller);
    if (values && cgx_input_gather(where, buffer, plan->dtype, &sample, values))
        cgx_families_observe(plan, &sample, values, layers->seen + site->sample_words);
    cgx_float_leave(&caller);
    free(values);
}
