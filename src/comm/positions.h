/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is kept of the training step: the step of uniform quantisation. It follows from shared
 * state, so that all ranks find the same. */
#ifndef CGX_COMM_POSITIONS_H
#define CGX_COMM_POSITIONS_H

#include "coll/coll.h"
#include "comm/state.h"

/* Must be called before the first call of a step with a position is served. */
void cgx_positions_step(struct cgx_comm *state);

/* Sets the error and the floor of uniform quantisation of COLL, a call of SITE, and its steps: the
 * training step's, or the site's until there are any. They stay 0 if unknown, or while sums are
 * young; and all if the plan has no uniform segments. */
void cgx_positions_set_steps(const struct cgx_comm *state, const struct cgx_callsite *site,
                             struct cgx_coll *coll);

/* How old the next compressed call of SITE is (policy/step_size.h): it counts the compressed
 * ones, and those that were exact since that is faster. */
uint32_t cgx_positions_age(const struct cgx_comm *state, const struct cgx_callsite *site);

/* A call of SITE was exact since that is faster: its step size is not known any more when it is
 * compressed again. */
void cgx_positions_left(struct cgx_callsite *site);

/* Records what COLL, a call of SITE, has quantised: the same on all ranks that did not fail. */
void cgx_positions_quantised(struct cgx_comm *state, struct cgx_callsite *site,
                             const struct cgx_coll *coll);

#endif
