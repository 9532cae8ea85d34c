/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the user and the program say of a communicator's calls: rules and hints. */
#ifndef CGX_COMM_OVERRIDE_H
#define CGX_COMM_OVERRIDE_H

#include "comm/state.h"

/* Merges settings, rules and hints for a call with KEY at POSITION of the step (CGX_POSITION_NONE:
 * not known). EXACT is set if none of them gives a width; *REASON: who says so. */
struct cgx_override cgx_comm_override(const struct cgx_comm *state, uint64_t key, size_t position,
                                      enum cgx_reason *reason);

/* Takes what INFO says; ranks are to compare it. */
void cgx_comm_take_hints(struct cgx_comm *state, cgx_mpi_info info);

/* Tells the recurrence how long the step is, where rules or hints, which ranks have compared, say
 * so. */
void cgx_comm_tell_step(struct cgx_comm *state);

#endif
