/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/workspace.h"

bool cgx_workspace_join(struct cgx_workspace *shared, struct cgx_workspace *mine,
                        const struct cgx_needs *needs)
{
    if (shared->held.slots == 0) {
        *shared = *mine;
    } else if (cgx_needs_fit(needs, &shared->held)) {
        cgx_scratch_release(&mine->scratch);
    } else if (cgx_needs_fit(&shared->held, needs)) {
        cgx_scratch_release(&shared->scratch);
        shared->scratch = mine->scratch;
        if (shared->shm_refused)
            cgx_shared_close(&shared->scratch.shared);
    } else {
        return false;
    }
    *mine = (struct cgx_workspace){.held = {0}};
    return true;
}

void cgx_workspace_release(struct cgx_workspace *work, bool broken)
{
    if (!broken)
        cgx_scratch_release(&work->scratch);
    cgx_shm_free(work->shm);
    cgx_nodes_free(work->nodes);
}
