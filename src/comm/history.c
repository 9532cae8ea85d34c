/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/history.h"

/* The backend of COLL that has the input and the output, or NULL. */
static struct cgx_backend *backend_of(const struct cgx_coll *coll)
{
    return coll->standing == CGX_ABLE && coll->encoder == coll->decoder ? coll->encoder : NULL;
}

/* The history of all ranks is empty. */
static int begin(struct cgx_comm *state, struct cgx_kept_history *kept, const struct cgx_plan *plan,
                 struct cgx_backend *backend)
{
    kept->age = 0;
    cgx_retained_drop(&kept->memory);
    if (backend)
        cgx_retained_get(&kept->memory, backend, cgx_history_bytes(plan->count, plan->bucket_size));
    return cgx_retained_agree(state, &kept->memory, "the history", plan->count);
}

int cgx_kept_history_get(struct cgx_comm *state, struct cgx_kept_history *kept,
                         struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    const struct cgx_retained *memory = &kept->memory;
    struct cgx_backend *backend = backend_of(coll);
    int code = CGX_MPI_SUCCESS;

    if (cgx_retained_waits(&kept->memory))
        return code;
    if (!memory->agreed)
        code = begin(state, kept, plan, backend);
    if (code != CGX_MPI_SUCCESS || !memory->agreed)
        return code;
    coll->recalls = true;
    coll->age = kept->age;
    if (backend && memory->holding && backend->ops->holds(backend, memory->holding))
        coll->history = cgx_history_in(memory->holding->at, plan->count);
    else if (coll->standing == CGX_ABLE)
        coll->standing = CGX_DECLINED;
    return code;
}

void cgx_kept_history_put(struct cgx_kept_history *kept, bool done)
{
    kept->age++;
    if (done)
        return;
    cgx_retained_drop(&kept->memory);
    kept->memory.agreed = false;
}
