/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks decide together which recurring calls are compressed. They agree once per kind of calls
 * (one type): where buffers are, how much staging memory there is, and how nodes are connected. A
 * new count needs no agreement unless it needs more memory than any before, which then grows by
 * half. For each position of the step, if CGX_CONSENSUS is on, ranks also sample the data of exact
 * calls. */
#ifndef CGX_COMM_DECIDE_H
#define CGX_COMM_DECIDE_H

#include "comm/capability.h"
#include "observe/notices.h"

/* Whether the data of calls must be sampled before they are compressed. */
bool cgx_decide_samples(const struct cgx_callsite *site);

/* Whether all that the call needs has been agreed. */
bool cgx_decide_is_served(struct cgx_comm *state, struct cgx_callsite *site);

/* Whether the call, without a position, is compressed since calls of its kind are trusted; it is
 * then sampled within the call. */
bool cgx_decide_trusts(struct cgx_comm *state, struct cgx_callsite *site);

/* Decides the site's next state. Collective on the caller's communicator. CAPABILITY is this
 * rank's, without backends yet. Returns MPI's code. */
int cgx_decide(struct cgx_comm *state, struct cgx_callsite *site,
               struct cgx_capability *capability);

/* Raises an error since a rank (this one if its REFUSAL says so) can serve a call neither
 * compressed nor exactly. The next call is tried again: as an exact call it would be an error on
 * that rank only. */
int cgx_decide_raise(cgx_mpi_comm comm, enum cgx_reason refusal);

/* Describes the call for a log line; NAME is memory for the communicator's name. */
struct cgx_noticed cgx_decide_noticed(const struct cgx_comm *state, const struct cgx_callsite *site,
                                      char name[CGX_MPI_OBJECT_NAME_BYTES]);

#endif
