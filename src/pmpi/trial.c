/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/trial.h"

#include "codec/backend.h"
#include "comm/ballot.h"
#include "mpi/config.h"
#include "observe/compare.h"
#include "observe/totals.h"
#include "util/float_state.h"

bool cgx_trial_observes(void)
{
    return cgx_config()->enable == CGX_ENABLE_OBSERVE;
}

static size_t bytes_of(const struct cgx_coll *coll)
{
    return coll->schedule->plan.count * cgx_dtype_size(coll->schedule->plan.dtype);
}

/* Returns memory of BYTES from BACKEND, which *MEMORY owns; NULL: there is none. */
static void *take(struct cgx_reserved **memory, struct cgx_backend *backend, size_t bytes)
{
    if (*memory && (*memory)->bytes >= bytes && backend->ops->has_reserved(backend, *memory))
        return (*memory)->at;
    cgx_reserved_drop(*memory);
    *memory = NULL;
    if (backend->ops->reserve(backend, bytes, memory) != CGX_OK)
        *memory = NULL;
    return *memory ? (*memory)->at : NULL;
}

int cgx_trial_begin(struct cgx_comm *state, struct cgx_coll *coll, enum cgx_reason *refusal)
{
    uint32_t together = 0;

    if (!cgx_trial_observes())
        return CGX_MPI_SUCCESS;
    if (coll->vote == CGX_ABLE) {
        coll->output = take(&state->trial, coll->decoder, bytes_of(coll));
        if (!coll->output) {
            coll->vote = CGX_DECLINED;
            *refusal = CGX_REASON_NO_MEMORY;
        }
    }
    return cgx_ballot(state, CGX_BALLOT_START, NULL, &together, 1);
}

bool cgx_trial_serves(enum cgx_outcome outcome)
{
    return cgx_trial_observes() &&
           (outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST ||
            outcome == CGX_OUTCOME_HALFWAY || outcome == CGX_OUTCOME_UNRECOVERABLE);
}

void cgx_trial_note(const struct cgx_call *call, struct cgx_comm *state,
                    struct cgx_callsite_key key, const struct cgx_coll *coll,
                    enum cgx_outcome outcome, int64_t elapsed, int64_t plain)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    const struct cgx_served_sum sum = {bytes_of(coll), (unsigned)state->size, coll->sent, elapsed};
    struct cgx_stats_observed observed = {.plain = plain};
    union cgx_float_state caller;

    /* Sums may overflow or be NaN, and the program may have enabled traps. */
    cgx_float_enter(&caller);
    if (state->stats && outcome == CGX_OUTCOME_DONE)
        observed.compared = cgx_compare(plan->dtype, plan->count, coll->output, call->recvbuf,
                                        &observed.square, &observed.norm);
    cgx_stats_compressed(state->stats, key, coll, outcome, elapsed, &observed);
    cgx_float_leave(&caller);
    if (outcome == CGX_OUTCOME_DONE)
        cgx_totals_observed(&sum);
}
