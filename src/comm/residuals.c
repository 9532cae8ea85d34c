/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/residuals.h"

#include "coll/residuals.h"

/* Has residuals as SCHEDULE wants them: those of the last call, or zeros. */
static void renew(struct cgx_kept_residuals *kept, const struct cgx_schedule *schedule,
                  unsigned rank, struct cgx_backend *encoder)
{
    size_t bytes = cgx_residuals_bytes(schedule, rank);
    uint32_t plan = schedule->plan->hash;
    bool whole = kept->whole && kept->plan == plan;
    struct cgx_retained *memory = &kept->memory;

    kept->whole = false;
    kept->plan = plan;
    if (!encoder)
        return;
    if (!memory->holding || memory->holding->bytes < bytes ||
        !encoder->ops->holds(encoder, memory->holding))
        cgx_retained_get(memory, encoder, bytes);
    else if (!whole && encoder->ops->clear(encoder, memory->holding) != CGX_OK)
        cgx_retained_drop(memory);
}

int cgx_kept_residuals_get(struct cgx_comm *state, struct cgx_kept_residuals *kept,
                           const struct cgx_schedule *schedule, struct cgx_backend *encoder,
                           struct cgx_error_feedback *room,
                           const struct cgx_error_feedback **feedback)
{
    struct cgx_retained *memory = &kept->memory;
    int code = CGX_MPI_SUCCESS;

    *feedback = NULL;
    if (cgx_retained_waits(memory))
        return code;
    renew(kept, schedule, (unsigned)state->rank, encoder);
    if (!memory->agreed)
        code = cgx_retained_agree(state, memory, "residuals", schedule->plan->count);
    if (code != CGX_MPI_SUCCESS || !encoder || !memory->holding)
        return code;
    *room = cgx_residuals_in(memory->holding->at, schedule, (unsigned)state->rank);
    *feedback = room;
    return code;
}
