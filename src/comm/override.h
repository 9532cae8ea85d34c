/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the user and the program say of a communicator's calls: rules and hints. */
#ifndef CGX_COMM_OVERRIDE_H
#define CGX_COMM_OVERRIDE_H

#include "comm/state.h"

/* What is known of calls of KEY but for its rule, which is set: settings, rules and hints merged,
 * but not whether they recur, nor their entry. The override is exact where none of them gives a
 * width; the reason is who says so. */
struct cgx_recurring cgx_comm_recurring(struct cgx_comm *state, struct cgx_callsite_key key);

/* Takes what INFO says; ranks are to compare it. */
void cgx_comm_take_hints(struct cgx_comm *state, cgx_mpi_info info);

/* Tells the recurrence how long the step is, where rules or hints, which ranks have compared, say
 * so. */
void cgx_comm_tell_step(struct cgx_comm *state);

#endif
