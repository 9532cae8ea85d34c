/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The tables of a communicator: where sums recur, what was agreed about them and how they are run.
 * They are made when ranks agree on settings, in its 4th sum of 1024 elements or more, since most
 * communicators never have so many. */
#ifndef CGX_COMM_TABLES_H
#define CGX_COMM_TABLES_H

#include "comm/state.h"

/* Whether sums of COUNT elements are large: at least CGX_COMPRESSION_MINIMAL_SIZE. */
bool cgx_tables_serve(uint64_t count);

/* Makes STATE's missing tables. False if memory is short. */
bool cgx_tables_make(struct cgx_comm *state);

/* Clears what was made with other hints. */
void cgx_tables_clear(struct cgx_comm *state);

void cgx_tables_free(struct cgx_comm *state);

/* Passes the step's length to the recurrence, if rules or hints, which ranks have compared, set
 * it. */
void cgx_tables_set_step(struct cgx_comm *state);

/* After a pause (left in struct cgx_stream): the next sum began at BEGUN, by cgx_trace_clock.
 * TAKEN: as one of the first sums. */
void cgx_tables_wait(struct cgx_comm *state, int64_t begun, bool taken);

/* The sum has ended: a pause begins. */
void cgx_tables_pause(struct cgx_comm *state);

/* After a large sum was taken: ranks compare the steps that they have found if it is time for that,
 * and follow a step that all have found; *OCCURRENCE is then updated for that sum. Returns the code
 * of the communicator's error handler. */
int cgx_tables_compare(struct cgx_comm *state, struct cgx_occurrence *occurrence);

/* Records one of the first sums, of COUNT elements of TYPE. False: the first sums are over. */
bool cgx_tables_take_first(struct cgx_comm *state, uint64_t count, unsigned type);

/* Takes the next float sum, of COUNT elements of TYPE. A large one needs the tables. */
struct cgx_occurrence cgx_tables_next(struct cgx_comm *state, uint64_t count, unsigned type);

#endif
