/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What large sums need of a communicator: where they recur, what was agreed of them and how they
 * are run. Made when the first one comes, since most communicators never see one. */
#ifndef CGX_COMM_TABLES_H
#define CGX_COMM_TABLES_H

#include "comm/state.h"

/* Whether sums of COUNT elements are large: of CGX_COMPRESSION_MINIMAL_SIZE elements. */
bool cgx_tables_serve(uint64_t count);

/* Makes those that STATE lacks. False if memory is short. */
bool cgx_tables_make(struct cgx_comm *state);

/* Forgets what was made for other hints. */
void cgx_tables_clear(struct cgx_comm *state);

void cgx_tables_free(struct cgx_comm *state);

/* Tells the recurrence how long the step is, where rules or hints, which ranks have compared, say
 * so. */
void cgx_tables_set_step(struct cgx_comm *state);

/* The next sum has begun at BEGUN, of cgx_trace_clock; it has been TAKEN as one of the first. */
void cgx_tables_wait(struct cgx_comm *state, int64_t begun, bool taken);

/* The sum is done: a pause begins. */
void cgx_tables_pause(struct cgx_comm *state);

/* After a large sum has been taken: ranks compare what their pauses tell of the step, if it is time
 * for that, and follow it where all say the same: *OCCURRENCE, that sum's, is then anew. The code
 * of the communicator's error handler. */
int cgx_tables_compare(struct cgx_comm *state, struct cgx_occurrence *occurrence);

/* Takes one of the first sums, of COUNT elements of a TYPE. False: it is none of them any more. */
bool cgx_tables_take_first(struct cgx_comm *state, uint64_t count, unsigned type);

/* Takes the next float sum, of COUNT elements of a TYPE; a large one needs the tables. */
struct cgx_occurrence cgx_tables_next(struct cgx_comm *state, uint64_t count, unsigned type);

#endif
