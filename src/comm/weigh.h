/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Times decide how the sums of call sites are formed that ranks have agreed to compress
 * (policy/worth.h). */
#ifndef CGX_COMM_WEIGH_H
#define CGX_COMM_WEIGH_H

#include "comm/state.h"
#include "policy/worth.h"

/* Sets *WAY to that of the next sum of SITE, of those that ranks have agreed to compress, if times
 * decide that. Collective on the caller's communicator where times are compared. Returns MPI's
 * code. */
int cgx_weigh_next(struct cgx_comm *state, struct cgx_callsite *site, enum cgx_way *way);

#endif
