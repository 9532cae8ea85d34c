/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/trial.h"

#include "codec/backend.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/compare.h"
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
    int together = 0;

    if (!cgx_trial_observes())
        return CGX_MPI_SUCCESS;
    if (coll->vote == CGX_ABLE) {
        coll->output = take(&state->trial, coll->decoder, bytes_of(coll));
        if (!coll->output) {
            coll->vote = CGX_DECLINED;
            *refusal = CGX_REASON_NO_MEMORY;
        }
    }
    return cgx_errors_least(state->comm, &together, 1);
}

bool cgx_trial_serves(enum cgx_outcome outcome)
{
    return cgx_trial_observes() &&
           (outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST ||
            outcome == CGX_OUTCOME_HALFWAY || outcome == CGX_OUTCOME_UNRECOVERABLE);
}

void cgx_trial_compare(struct cgx_record *record, const struct cgx_coll *coll)
{
    union cgx_float_state caller;

    /* Sums may overflow or be NaN, and the program may have enabled traps. */
    cgx_float_enter(&caller);
    record->compared = cgx_compare(record->plan->dtype, record->plan->count, coll->output,
                                   record->request->recvbuf, &record->square, &record->norm);
    cgx_float_leave(&caller);
}
