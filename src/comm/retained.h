/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that is kept for one position of the step from call to call, on all ranks or on none. */
#ifndef CGX_COMM_RETAINED_H
#define CGX_COMM_RETAINED_H

#include "codec/backend.h"
#include "comm/state.h"
#include "util/backoff.h"

/* All zero: ranks have not asked each other yet. */
struct cgx_retained {
    struct cgx_holding *holding; /* NULL: there is none */
    bool agreed;                 /* all ranks had the memory */
    struct cgx_backoff retry;    /* before ranks that had not ask each other again */
};

/* Whether this call goes without: ranks had not the memory, and do not ask each other yet. Counts
 * it. */
bool cgx_retained_waits(struct cgx_retained *memory);

/* Gets zeros for BYTES from BACKEND in the place of what was held, if they can be had. */
void cgx_retained_get(struct cgx_retained *memory, struct cgx_backend *backend, size_t bytes);

/* Asks all ranks whether they have it; of one that has not, none keeps any. WHAT is kept, of COUNT
 * elements, for people. Collective. Returns MPI's code. */
int cgx_retained_agree(struct cgx_comm *state, struct cgx_retained *memory, const char *what,
                       size_t count);

void cgx_retained_drop(struct cgx_retained *memory);

#endif
