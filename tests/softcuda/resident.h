/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Grids whose blocks are all resident at once and wait for each other. Each block is a thread of
 * the process, and one of them runs at a time: after some rounds a random other one goes on.
 * ThreadSanitizer sees nothing that orders them but what kernels do. The engine must be compiled
 * with SOFTCUDA_RESIDENT. */
#ifndef SOFTCUDA_RESIDENT_H
#define SOFTCUDA_RESIDENT_H

#include <stdint.h>

#include "softcuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SOFTCUDA_RESIDENTS 64 /* blocks at most */

struct softcuda_together {
    const struct softcuda_grid *grids;
    unsigned ngrids;
    uint64_t seed;
    unsigned burst; /* rounds at most that a block has before another goes on */
    /* Called if all blocks poll in vain. It may change what they look at; false: it does not. NULL:
     * as if false. */
    bool (*idle)(void *state);
    void *state;
};

/* Runs the grids to their ends. False: threads of a block did not meet, or blocks poll in vain (a
 * message says so). */
bool softcuda_run_together(const struct softcuda_together *together);

#ifdef __cplusplus
}
#endif

#endif
