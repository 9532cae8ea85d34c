/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "optimiser.h"
#include <math.h>
#include <stdlib.h>

/* Of Adam: what its averages keep of themselves in each step, and what is added to a root. */
static const double FIRST_KEPT = 0.9, SECOND_KEPT = 0.999;
static const float EPSILON = 1e-8f, ADAMW_DECAY = 0.05f;

static struct {
    enum optimiser kind;
    size_t parameters;
    float momentum, decay;
    float *first, *second; /* averages of the gradient and of its square; first: the velocity too */
    double first_left, second_left; /* of the averages' zeros at the start */
} state;

bool optimiser_start(enum optimiser kind, size_t parameters, float momentum, float decay)
{
    state.kind = kind;
    state.parameters = parameters;
    state.momentum = momentum;
    state.decay = decay;
    state.first_left = state.second_left = 1.0;
    state.first = calloc(2 * parameters, sizeof *state.first);
    state.second = state.first ? state.first + parameters : NULL;
    return state.first != NULL;
}

static void step_sgd(float *parameter, const float *gradient, float scale, float rate)
{
    for (size_t i = 0; i < state.parameters; i++) {
        state.first[i] =
            state.momentum * state.first[i] + scale * gradient[i] + state.decay * parameter[i];
        parameter[i] -= rate * state.first[i];
    }
}

static void step_adam(float *parameter, const float *gradient, float scale, float rate, float decay)
{
    const float first_kept = (float)FIRST_KEPT, second_kept = (float)SECOND_KEPT;
    float first_part, second_part;

    state.first_left *= FIRST_KEPT;
    state.second_left *= SECOND_KEPT;
    first_part = (float)(1.0 / (1.0 - state.first_left));
    second_part = (float)(1.0 / (1.0 - state.second_left));
    for (size_t i = 0; i < state.parameters; i++) {
        float value = scale * gradient[i];
        float first = first_kept * state.first[i] + (1.0f - first_kept) * value;
        float second = second_kept * state.second[i] + (1.0f - second_kept) * value * value;

        state.first[i] = first;
        state.second[i] = second;
        parameter[i] -= rate * decay * parameter[i];
        parameter[i] -= rate * first_part * first / (sqrtf(second_part * second) + EPSILON);
    }
}

void optimiser_step(float *parameter, const float *gradient, float scale, float rate)
{
    if (state.kind == SGD)
        step_sgd(parameter, gradient, scale, rate);
    else
        step_adam(parameter, gradient, scale, rate, state.kind == ADAMW ? ADAMW_DECAY : 0.0f);
}

void optimiser_end(void)
{
    free(state.first);
    state.first = state.second = NULL;
}
