/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the user and the program say of a communicator's calls: rules and hints. */
#ifndef CGX_COMM_OVERRIDE_H
#define CGX_COMM_OVERRIDE_H

#include "comm/state.h"

/* What is known of calls with the key CALL at POSITION of the step (CGX_POSITION_NONE: not known),
 * settings, rules and hints merged: but for whether they recur, and their entry. The override is
 * exact where none of them gives a width; the reason is who says so. */
struct cgx_recurring cgx_comm_recurring(struct cgx_comm *state, uint64_t call, size_t position);

/* Takes what INFO says; ranks are to compare it. */
void cgx_comm_take_hints(struct cgx_comm *state, cgx_mpi_info info);

/* Tells the recurrence how long the step is, where rules or hints, which ranks have compared, say
 * so. */
void cgx_comm_tell_step(struct cgx_comm *state);

#endif
