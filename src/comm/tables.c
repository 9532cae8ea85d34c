/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/tables.h"

#include <string.h>

#include "comm/override.h"
#include "comm/planned.h"
#include "comm/positions.h"
#include "mpi/config.h"

/* Small sums that are remembered before the first large one: as many as may lie between two. */
#define MOST_SMALLS UINT16_MAX

bool cgx_tables_serve(uint64_t count)
{
    return count >= cgx_config()->minimal_size;
}

/* Tells STATE's recurrence of the sums before it: as many, of as many elements. */
static void catch_up(struct cgx_comm *state)
{
    const struct cgx_before *before = &state->before;

    for (uint32_t i = 0; i < before->ignored; i++)
        cgx_recurrence_next(state->recurrence, 1, 0);
    for (uint32_t i = 0; i < before->smalls; i++)
        cgx_recurrence_next(
            state->recurrence,
            before->elements / before->smalls + (i < before->elements % before->smalls), 0);
}

static void note(struct cgx_before *before, uint64_t count)
{
    if (count < CGX_RECURRENCE_LEAST) {
        if (before->ignored < MOST_SMALLS)
            before->ignored += (uint32_t)count;
    } else if (before->smalls < MOST_SMALLS) {
        before->elements += count;
        before->smalls++;
    }
}

bool cgx_tables_make(struct cgx_comm *state)
{
    const struct cgx_settings *settings = cgx_config();

    if (!state->agreed_calls)
        state->agreed_calls = cgx_agreed_calls_create();
    if (!state->planned)
        state->planned = cgx_planned_calls_create();
    if (!state->agreed_calls || !state->planned)
        return false;
    if (!state->recurrence) {
        state->recurrence = cgx_recurrence_create(&(struct cgx_recurrence_rule){
            .warmup = settings->warmup, .minimal_size = settings->minimal_size});
        if (!state->recurrence)
            return false;
        catch_up(state);
    }
    return true;
}

void cgx_tables_clear(struct cgx_comm *state)
{
    cgx_positions_free(state->positions);
    state->positions = NULL;
    if (state->planned)
        cgx_planned_calls_clear(state->planned);
    if (state->agreed_calls)
        cgx_agreed_calls_clear(state->agreed_calls);
    memset(state->kinds, 0, sizeof state->kinds);
}

void cgx_tables_free(struct cgx_comm *state)
{
    cgx_positions_free(state->positions);
    cgx_recurrence_free(state->recurrence);
    cgx_agreed_calls_free(state->agreed_calls);
    cgx_planned_calls_free(state->planned);
    state->positions = NULL;
    state->recurrence = NULL;
    state->agreed_calls = NULL;
    state->planned = NULL;
}

struct cgx_occurrence cgx_tables_next(struct cgx_comm *state, uint64_t count, unsigned type)
{
    if (state->recurrence)
        return cgx_recurrence_next(state->recurrence, count, type);
    note(&state->before, count);
    return (struct cgx_occurrence){.position = CGX_POSITION_NONE};
}
