/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/override.h"

#include "mpi/config.h"
#include "util/log.h"

struct cgx_recurring cgx_comm_recurring(struct cgx_comm *state, uint64_t call, size_t position)
{
    const struct cgx_rules_call about = {.count = cgx_recurrence_count(call),
                                         .dtype = cgx_type_dtype(cgx_recurrence_type(call)),
                                         .communicator = state->name,
                                         .position =
                                             position == CGX_POSITION_NONE ? UINT64_MAX : position};
    struct cgx_recurring found = {
        .call = call, .position = position, .kind = &state->kinds[cgx_recurrence_type(call)]};
    struct cgx_override *override = &found.override;

    if (state->hints || cgx_config_rules())
        *override = cgx_override_merge(state->hints, cgx_config_rules(), &about);
    if (override->exact)
        found.reason = override->rule ? CGX_REASON_RULE : CGX_REASON_HINT;
    return found;
}

/* The value of KEY in INFO, or NULL. */
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

void cgx_comm_take_hints(struct cgx_comm *state, cgx_mpi_info info)
{
    char texts[CGX_HINTS][CGX_MPI_INFO_VALUE_BYTES];
    const char *values[CGX_HINTS];
    struct cgx_rules_error error;
    struct cgx_hints *hints;

    for (size_t i = 0; i < CGX_HINTS; i++)
        values[i] = value_of(info, cgx_hint_key((enum cgx_hint)i), texts[i]);
    hints = cgx_hints_parse(state->hints, values, &error);
    state->hints_refused = !hints;
    if (hints)
        state->hints = hints;
    else if (state->rank == 0)
        cgx_log(CGX_LOG_ERROR,
                "a hint was refused, at column %u: %s; calls on this communicator are exact",
                error.column, error.message);
}

void cgx_comm_tell_step(struct cgx_comm *state)
{
    size_t step = cgx_override_step(state->hints, cgx_config_rules(), state->name);

    if (!state->recurrence || step == state->step_told)
        return;
    cgx_recurrence_tell_step(state->recurrence, step);
    state->step_told = step;
}
