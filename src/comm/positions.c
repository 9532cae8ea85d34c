/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/positions.h"

#include "codec/history.h"
#include "codec/uniform/uniform.h"
#include "mpi/config.h"
#include "util/float_state.h"

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

uint32_t cgx_positions_age(const struct cgx_comm *state, const struct cgx_callsite *site)
{
    const uint32_t least = state->calls / MOST_SUMS;
    const uint32_t compressed = site->shared.history.agreed ? site->shared.history.age
                                : site->shared.runs > least ? site->shared.runs
                                                            : least;

    return compressed + site->shared.left;
}

void cgx_positions_left(struct cgx_callsite *site)
{
    site->shared.left += site->shared.left < CGX_STEP_YOUNG;
    site->step_size = (struct cgx_step_size){.mean = 0};
}

/* What all elements of COLL are larger by than those of a step's sums with a history, of equal
 * size: without one, or while it is empty, they are not divided by their scales. */
static float excess_of(const struct cgx_coll *coll)
{
    const bool divided = coll->has_history && coll->age > 0;

    return coll->schedule->plan.has_history && !divided ? CGX_HISTORY_EQUAL : 1;
}

_Static_assert(CGX_STEP_STAGES == CGX_LEVEL_RESULT + 1, "as many");

void cgx_positions_set_steps(const struct cgx_comm *state, const struct cgx_callsite *site,
                             struct cgx_coll *coll)
{
    /* While no steps begin, as where positions are lost, what is known of them grows old. */
    const bool placed = site->key.position != CGX_POSITION_NONE;
    const struct cgx_step_size *size =
        placed && cgx_step_size_is_known(&state->step.size) ? &state->step.size : &site->step_size;
    unsigned width = coll->schedule->plan.uniform_width, payloads[CGX_STEP_STAGES];
    uint32_t age = cgx_positions_age(state, site);
    union cgx_float_state caller;

    if (width == 0)
        return;
    cgx_schedule_payloads(coll->schedule, payloads);
    cgx_float_enter(&caller);
    coll->error = cgx_step_size_error(width, age);
    coll->floor = cgx_step_size_floor(width, coll->error);
    if (age >= CGX_STEP_YOUNG && cgx_step_size_is_known(size)) {
        cgx_step_size_of(size, width, payloads, coll->step_sizes);
        for (int i = 0; i < CGX_STEP_STAGES; i++)
            if (coll->step_sizes[i] * excess_of(coll) < CGX_UNIFORM_MOST_STEP)
                coll->step_sizes[i] *= excess_of(coll);
    }
    cgx_float_leave(&caller);
}

void cgx_positions_quantised(struct cgx_comm *state, struct cgx_callsite *site,
                             const struct cgx_coll *coll)
{
    const double excess = (double)excess_of(coll);
    struct cgx_quantised quantised = coll->quantised;
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    quantised.energy /= excess * excess;
    cgx_step_size_add(&state->step.size, &quantised);
    cgx_step_size_add(&site->step_size, &quantised);
    cgx_step_size_next(&site->step_size);
    cgx_float_leave(&caller);
}

void cgx_positions_step(struct cgx_comm *state)
{
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    begin_step(&state->step, cgx_recurrence_generation(state->stream.recurrence));
    cgx_float_leave(&caller);
}
