/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds the program's step in the sequence of calls on one communicator: the shortest period that
 * explains the longest run of them. Everything is a function of that sequence, which all ranks of
 * the communicator share, so all come to the same answers. Constant memory, allocated at once. */
#ifndef CGX_POLICY_STEP_H
#define CGX_POLICY_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest step that is recognised, in calls. */
#define CGX_STEP_LONGEST 4096

/* A period is believed when it has held for two steps and for at least this many calls, so that ten
 * reductions alike are no step. */
#define CGX_STEP_EVIDENCE 12

/* The position of a call that the step does not expect. */
#define CGX_STEP_NOWHERE SIZE_MAX

struct cgx_step;

/* WARMUP: how many steps must have gone by before a call of the step recurs; 0: every call does.
 * One cannot be told from none, so 1 acts as 2. NULL if memory is short. */
struct cgx_step *cgx_step_create(unsigned warmup);
void cgx_step_free(struct cgx_step *step);

/* Takes the next call of the sequence; SIGNATURE tells equal calls. True if it is the one that the
 * step expects and the step has gone by often enough. A call that the step does not expect is
 * passed over: the step goes on after it. */
bool cgx_step_recurs(struct cgx_step *step, uint64_t signature);

/* Where in the step the last call was, from 0. Position 0 begins a step. */
size_t cgx_step_position(const struct cgx_step *step);

/* Changes when positions get another meaning. */
uint64_t cgx_step_generation(const struct cgx_step *step);

/* The signature of the call at POSITION, below the period. */
uint64_t cgx_step_expects(const struct cgx_step *step, size_t position);

/* The period that is believed now, in calls; 0: none. */
size_t cgx_step_period(const struct cgx_step *step);

#endif
