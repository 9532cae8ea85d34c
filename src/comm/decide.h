/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks decide together which recurring calls are compressed. They agree once for each kind of
 * calls, of one type: where the buffers live, what staging memory there is, how nodes are
 * connected. A count that is new then needs nothing, but where it needs more memory than any
 * before, which grows by half. For each position of the step, where CGX_CONSENSUS says so, they
 * look at the data of exact calls too. */
#ifndef CGX_COMM_DECIDE_H
#define CGX_COMM_DECIDE_H

#include "comm/capability.h"
#include "observe/notices.h"

/* Whether the data of the call must be sampled before calls like it are compressed. */
bool cgx_decide_samples(const struct cgx_callsite *site);

/* Whether all that the call needs has been agreed. */
bool cgx_decide_is_served(struct cgx_comm *state, struct cgx_callsite *site);

/* Whether the call goes as others of its kind do, as long as nothing speaks against it: its
 * position says nothing of it, and it is sampled within the call. */
bool cgx_decide_trusts(struct cgx_comm *state, struct cgx_callsite *site);

/* Collective on the caller's communicator: what becomes of the site. CAPABILITY is this rank's,
 * its backends not yet got. Returns MPI's code. */
int cgx_decide(struct cgx_comm *state, struct cgx_callsite *site,
               struct cgx_capability *capability);

/* Raises that a rank, this one if its REFUSAL says so, can serve a call neither compressed nor
 * exactly. The next call is tried too: as an exact one it would be an error on that rank alone. */
int cgx_decide_raise(cgx_mpi_comm comm, enum cgx_reason refusal);

/* The call, for a line about it; NAME is the memory for that of its communicator. */
struct cgx_noticed cgx_decide_noticed(const struct cgx_comm *state, const struct cgx_callsite *site,
                                      char name[CGX_MPI_OBJECT_NAME_BYTES]);

#endif
