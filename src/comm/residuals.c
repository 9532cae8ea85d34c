/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/residuals.h"

#include "coll/residuals.h"
#include "util/log.h"

/* Calls after which ranks try again to have the memory. */
#define NEXT_TRY 64

static void drop(struct cgx_kept_residuals *kept)
{
    cgx_holding_drop(kept->holding);
    kept->holding = NULL;
}

/* Gets zeros for BYTES. */
static void get(struct cgx_kept_residuals *kept, struct cgx_backend *encoder, size_t bytes)
{
    drop(kept);
    if (encoder->ops->keep(encoder, bytes, &kept->holding) != CGX_OK)
        kept->holding = NULL;
}

/* Has residuals as SCHEDULE wants them: those of the last call, or zeros. */
static void renew(struct cgx_kept_residuals *kept, const struct cgx_schedule *schedule,
                  unsigned rank, struct cgx_backend *encoder)
{
    size_t bytes = cgx_residuals_bytes(schedule, rank);
    uint32_t plan = schedule->plan->hash;
    bool whole = kept->whole && kept->plan == plan;

    kept->whole = false;
    kept->plan = plan;
    if (!encoder)
        return;
    if (!kept->holding || kept->holding->bytes < bytes ||
        !encoder->ops->holds(encoder, kept->holding))
        get(kept, encoder, bytes);
    else if (!whole && encoder->ops->clear(encoder, kept->holding) != CGX_OK)
        drop(kept);
}

int cgx_kept_residuals_get(struct cgx_comm *state, struct cgx_kept_residuals *kept,
                           const struct cgx_schedule *schedule, struct cgx_backend *encoder,
                           struct cgx_error_feedback *room,
                           const struct cgx_error_feedback **feedback)
{
    int all, code;

    *feedback = NULL;
    if (!kept->agreed && kept->wait > 0) {
        kept->wait--;
        return CGX_MPI_SUCCESS;
    }
    renew(kept, schedule, (unsigned)state->rank, encoder);
    if (!kept->agreed) {
        all = encoder && kept->holding;
        code = cgx_mpi_least(state->own, &all, 1);
        if (code != CGX_MPI_SUCCESS)
            return code;
        kept->agreed = all;
        kept->wait = NEXT_TRY;
        if (!all) {
            drop(kept);
            if (state->rank == 0)
                cgx_log(CGX_LOG_DEBUG, "a rank has no memory for residuals of %zu elements",
                        schedule->plan->count);
        }
    }
    if (!encoder || !kept->holding)
        return CGX_MPI_SUCCESS;
    *room = cgx_residuals_in(kept->holding->at, schedule, (unsigned)state->rank);
    *feedback = room;
    return CGX_MPI_SUCCESS;
}
