/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Takes looks at the data of calls (policy/look.h). */
#ifndef CGX_PMPI_LOOK_H
#define CGX_PMPI_LOOK_H

#include "comm/state.h"
#include "observe/record.h"
#include "policy/look.h"

/* Serves a call of SITE exactly, for REASON, and takes a look at its sum for the site's window: one
 * that shows nothing if this rank cannot serve the call otherwise (CAN), its elements cannot be
 * read, or memory is short. Returns the exact call's code. */
int cgx_look_exact(struct cgx_record *record, struct cgx_comm *state, enum cgx_reason reason,
                   struct cgx_callsite *site, bool can);

/* Samples the result of the latest large sum, an exact one of SITE, as long as that may reveal the
 * step (policy/step/resemblance.h). */
void cgx_look_result(const struct cgx_request *request, struct cgx_comm *state,
                     const struct cgx_callsite *site);

/* Sets what COLL needs to look at REQUEST's input, of the kind that SITE has had so far. */
void cgx_look_prepare(const struct cgx_request *request, struct cgx_comm *state,
                      struct cgx_callsite *site, struct cgx_coll *coll);

/* COLL has compressed a call of SITE: its input counts for the looks at later ones. */
void cgx_look_ran(const struct cgx_coll *coll, struct cgx_comm *state, struct cgx_callsite *site);

#endif
