/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Steps of a program on ranks that are threads (loopback.h): the gradients are summed by
 * cgx_coll_run with widths that policy/widths/adapt.h chooses, as src/pmpi does it. */
#ifndef CGX_TESTS_REPLAY_H
#define CGX_TESTS_REPLAY_H

#include "policy/widths/adapt.h"

struct replay;

/* Float32 buffers of these COUNTS a step, one after the other in the gradients. Nodes are as the
 * topology of SETTINGS says, or of one rank each. NULL if memory is short. */
struct replay *replay_create(const struct cgx_settings *settings, unsigned ranks,
                             const size_t *counts, size_t ncounts);
void replay_free(struct replay *replay);

struct replay_result {
    bool same;    /* all ranks have the same result and, from this step on, the same plans */
    double error; /* squared, against the sum in float64; all elements */
    double codes; /* bytes of one rank's codes and bucket headers */
    double sent;  /* bytes of all ranks' messages */
    /* After the step. */
    enum cgx_adapt_due due;
    double predicted;          /* what the policy takes ERROR for, and ... */
    double widths[CGX_WIDTHS]; /* ... what it would be at each width, from the last measurement */
};

/* GRADIENTS: those of rank 0, rank 1, ... False: a call failed. */
bool replay_step(struct replay *replay, const float *gradients, struct replay_result *result);

/* Rank 0's; NULL where no width can change. */
const struct cgx_adapt *replay_adapt(const struct replay *replay);

/* The part of COUNT elements from FIRST on in the last step's error. */
double replay_segment_error(const struct replay *replay, size_t first, size_t count);

/* Of the results of all steps; the same for the same steps. */
uint64_t replay_checksum(const struct replay *replay);

#endif
